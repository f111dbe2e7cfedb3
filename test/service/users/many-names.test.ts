import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { collectedMemory } from '../../support/collected-memory.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aUser, nameOf } from './a-user.ts';
import { never, type Replica, Replicas } from './replicas.ts';

/** The security suite says 20,000; what is kept per name shows with a tenth of them. */
const names = 2_000;
const atOnce = 100;
/** A tenth of what 20,000 may take. */
const mayGrowBytes = 2 * 1024 * 1024;

describe('wrong passwords for very many names', () => {
  const replicas = forSuite(() => Replicas.start());
  let replica: Replica;
  const admin = 'chief@example.com';
  const right = 'the right password';

  before(async () => {
    replica = await replicas.replica();
    await replicas.kubernetes.apply(aUser(admin));
    await replicas.setPassword(nameOf(admin), await cheapPasswords().hash(right));
  });

  const check = async (email: string, password: string, source: string) => {
    const verdict = await replica.passwordCheck.check({ email, password, source }, never);
    return verdict.outcome === 'ok' ? 'ok' : verdict.reason;
  };
  /** From addresses enough that none is told to wait. */
  const flood = async (from: number, to: number) => {
    for (let start = from; start < to; start += atOnce) {
      const indices = Array.from({ length: Math.min(atOnce, to - start) }, (_, index) => start + index);
      const reasons = await Promise.all(
        indices.map((index) => check(`nobody-${index}@example.com`, 'wrong', `10.1.${Math.floor(index / 200)}.${index % 200}`)),
      );
      expect(new Set(reasons)).to.deep.equal(new Set(['UnknownUser']));
    }
  };

  it('USR-13 reset no counter, keep next to nothing, and fill no store', async () => {
    replica.passwords.skipsDummies = true;
    await flood(0, 4 * atOnce);
    for (let guess = 0; guess < 4; guess += 1) expect(await check(admin, 'wrong', '10.2.0.1')).to.equal('WrongPassword');
    replica.auditLines.length = 0;
    replica.logLines.length = 0;
    const before = collectedMemory().heapUsed;

    await flood(4 * atOnce, 4 * atOnce + names);

    expect(replica.auditLines).to.have.length(names);
    replica.auditLines.length = 0;
    replica.logLines.length = 0;
    expect(collectedMemory().heapUsed - before).to.be.lessThan(mayGrowBytes);
    expect(await replicas.userStatus(nameOf(admin))).to.include({ failedLogins: 4 });
    expect(await check(admin, 'wrong', '10.2.0.1')).to.equal('WrongPassword');
    expect(await check(admin, right, '10.2.0.1')).to.equal('Locked');
    const { body } = await replicas.kubernetes.call('GET', '/apis/auth.platform.io/v1/users');
    expect((body as { items: unknown[] }).items).to.have.length(1);
  });
});
