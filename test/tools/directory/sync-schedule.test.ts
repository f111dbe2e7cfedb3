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

  it('counts the users of each run', async () => {
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

describe('the last success of a synchronisation', () => {
  const slapd = forSuite(() => Slapd.start([person('anna')]));
  const server = forSuite(() => startServer({ config: { users: { ldap: [slapd.connector()], sync: { schedule: '2s' } } } }));

  it('is known to replicas that have run none', async () => {
    const lastSuccess = (url: string) => sampleOf(url, 'atrium_directory_sync_last_success_timestamp_seconds{connector="corp"}');
    await eventually(
      () => lastSuccess(server.metricsURL),
      (seconds) => Math.abs(Date.now() / 1000 - seconds) < 3600,
    );
    // The next replica finds the Lease held, and runs no synchronisation itself.
    await server.stopFirst();
    const finishedAt = '2026-03-01T11:00:04Z';
    const [example] = z.array(syncResult).parse(syncResult.meta()?.examples);
    const connectors = ['corp', 'unknown'].map((connector_id) => ({ ...example?.connectors[0], connector_id }));
    const annotations = { 'auth.platform.io/sync-result': JSON.stringify({ ...example, finishedAt, connectors }) };
    const spec = { holderIdentity: 'another', leaseDurationSeconds: 3600, renewTime: new Date().toISOString().replace('Z', '000Z') };
    const type = { 'content-type': 'application/merge-patch+json' };
    expect((await server.kubernetes.call('PATCH', lease, { metadata: { annotations }, spec }, type)).status).to.equal(200);

    const { metricsURL } = await server.replica();
    await eventually(
      () => lastSuccess(metricsURL),
      (seconds) => seconds === Date.parse(finishedAt) / 1000,
    );
    expect(await (await fetch(`${metricsURL}/metrics`)).text()).not.to.contain('connector="unknown"');
  });
});

async function sampleOf(metricsURL: string, name: string): Promise<number> {
  const text = await (await fetch(`${metricsURL}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}
