import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import type { Installation } from './installation.ts';
import { Revocations } from './revocations.ts';
import { installation } from './shared.ts';

const count = 10;

describe('a revoked right', () => {
  let service: Installation;
  let revocations: Revocations;

  before(async () => {
    service = await installation();
    revocations = new Revocations(service);
  });
  after(() => revocations?.close());

  it(`AUZ-07 has no effect on any replica after five seconds, ${count} times`, async () => {
    for (let n = 0; n < count; n += 1) {
      const { person, lastYesMs } = await revocations.one(n);

      expect(lastYesMs, person).to.be.below(5_000);
    }
  });

  it('AUZ-07 ends the watches that it allowed, on each replica', async () => {
    await revocations.grant('bob');
    for (const replica of service.replicas)
      await eventually(
        () => revocations.mayList(replica, 'bob'),
        (isYes) => isYes,
      );
    const headers = { authorization: `Bearer ${service.token('bob')}` };
    const watches = await Promise.all(
      service.replicas.map(({ url }) => fetch(`${url}/apis/auth.platform.io/v1/users?watch=true`, { headers })),
    );
    expect(watches.map(({ status }) => status)).to.deep.equal([200, 200]);
    await revocations.revoke('bob');
    // The service aborts the stream, so that it ends with an error.
    await Promise.all(watches.map((watch) => watch.text().catch(() => undefined)));
  });
});
