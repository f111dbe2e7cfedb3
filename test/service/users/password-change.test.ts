import { expect } from 'chai';
import type { ProvedPassword } from '../../../src/users/passwords/change.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aUser, nameOf } from './a-user.ts';
import { never, type Replica, Replicas } from './replicas.ts';

const old = 'correct horse battery';

describe('a new password', () => {
  const replicas = forSuite(() => Replicas.start());
  let first: Replica;
  let second: Replica;

  before(async () => {
    [first, second] = await Promise.all([replicas.replica(), replicas.replica()]);
  });

  async function proved(email: string): Promise<ProvedPassword> {
    await replicas.kubernetes.apply(aUser(email));
    await replicas.setPassword(nameOf(email), await cheapPasswords().hash(old));
    const verdict = await first.passwordCheck.check({ email, password: old, source: '10.0.0.1' }, never);
    if (verdict.outcome !== 'ok') throw new Error(verdict.reason);
    return { ...verdict.account, passwordChangedAt: verdict.passwordChangedAt };
  }

  it('ends no session of a new password that came first', async () => {
    const password = await proved('jane@example.com');
    first.passwords.meanwhile = async () => {
      first.passwords.meanwhile = undefined;
      expect(await second.passwordChange.change(password, 'chosen by the faster')).to.have.property('outcome', 'changed');
    };

    const slower = await first.passwordChange.change(password, 'chosen by the slower');

    expect(slower).to.deep.equal({ outcome: 'overtaken' });
    const { sessionsNotBefore, passwordChangedTime } = await replicas.userStatus(password.name);
    expect(sessionsNotBefore).to.equal(passwordChangedTime);
    const verdict = await first.passwordCheck.check(
      { email: 'jane@example.com', password: 'chosen by the faster', source: '10.0.0.1' },
      never,
    );
    expect(verdict.outcome).to.equal('ok');
  });
});
