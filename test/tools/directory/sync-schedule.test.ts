import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import { syncResult } from '../../../src/directory/schema.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aPerson, Slapd } from './slapd.ts';

const users = '/apis/auth.platform.io/v1/users';
const lease = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/atrium-user-sync`;
const noted = z.object({ metadata: z.object({ annotations: z.object({ 'auth.platform.io/sync-result': z.string() }) }) });
const person = (uid: string, more: Record<string, string> = {}) =>
  aPerson({ uid, cn: `${uid} of Corp`, mail: `${uid}@corp.example.com`, ...more });

describe('PUT /auth/v1/users/sync without a directory', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  it('does nothing, and reports no run', async () => {
    const response = await server.request('/auth/v1/users/sync', { method: 'PUT', as: 'manager' });
    expect(response.status).to.equal(200);
    expect(syncResult.parse(await response.json())).to.deep.include({ state: 'Completed', connectors: [] });
    expect((await server.request('/auth/v1/users/sync', { as: 'manager' })).status).to.equal(404);
  });
});

describe('users.sync.schedule', () => {
  const slapd = forSuite(() => Slapd.start([person('anna')]));
  const server = forSuite(() => startServer({ config: { users: { ldap: [slapd.connector()], sync: { schedule: '2s' } } } }));

  let metricsURLs: readonly string[] = [];

  before(async () => {
    metricsURLs = [server.metricsURL, (await server.replica()).metricsURL];
  });

  const isThere = (uid: string) =>
    eventually(
      async () => (await server.kubernetes.call('GET', `${users}/${nameOf(`${uid}@corp.example.com`)}`)).status,
      (status) => status === 200,
    );
  /** Returns the start of the current or last run. */
  const startedAt = async (): Promise<number | undefined> => {
    const { body } = await server.kubernetes.call('GET', lease);
    const { data } = noted.safeParse(body);
    return data && Date.parse(syncResult.parse(JSON.parse(data.metadata.annotations['auth.platform.io/sync-result'])).startedAt);
  };
  const runs = () => server.auditLines.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'UsersSynced');

  it('synchronises on schedule, on one replica at a time', async () => {
    await isThere('anna');
    await slapd.add(person('ben'));
    await isThere('ben');
    const starts = new Set<number>();
    await eventually(
      async () => {
        const started = await startedAt();
        if (started !== undefined) starts.add(started);
        return runs();
      },
      ({ length }) => length >= 3,
    );
    expect(new Set(runs().map(({ reason, outcome }) => `${reason} ${outcome}`))).to.deep.equal(new Set(['Scheduled success']));
    const times = [...starts].sort((one, other) => one - other);
    for (const [index, time] of times.slice(1).entries()) expect(time - (times[index] ?? 0)).to.be.at.least(2000);
  });

  it('reports the last success at every replica, and counts the users of each run', async () => {
    const sampleOf = async (url: string, name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await fetch(`${url}/metrics`)).text())?.[1] ?? 0);
    for (const url of metricsURLs)
      await eventually(
        () => sampleOf(url, 'atrium_directory_sync_last_success_timestamp_seconds{connector="corp"}'),
        (seconds) => Math.abs(Date.now() / 1000 - seconds) < 3600,
      );

    const usersOf = async (change: string) => {
      const name = `atrium_directory_sync_users_total{connector="corp",change="${change}"}`;
      return (await Promise.all(metricsURLs.map((url) => sampleOf(url, name)))).reduce((sum, one) => sum + one, 0);
    };
    await eventually(
      () => usersOf('created'),
      (created) => created === 2,
    );
    expect(await usersOf('failed')).to.equal(0);
  });
});
