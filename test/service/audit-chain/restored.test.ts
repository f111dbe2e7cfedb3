/** The backup of docs/audit.md: the checkpoints and their key first, then the database. */
import { DatabaseSync } from 'node:sqlite';
import { verifyChain } from '@atrium/audit-store/chain.ts';
import { verifiedCheckpoint } from '@atrium/audit-store/signed-checkpoints.ts';
import { chainedEvent } from '@atrium/audit-store/store.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { checkpointList } from '../../../src/audit-chain/schema.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type Installation, withAuditStore } from '../audit-store/installation.ts';

const leases = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases`;
const keys = `/api/v1/namespaces/${serviceNamespace}/secrets/atrium-keys`;
const secret = z.looseObject({ data: z.record(z.string(), z.string()) });
const lease = z.looseObject({ metadata: z.looseObject({ annotations: z.record(z.string(), z.string()) }) });

const start = () => withAuditStore({ config: { audit: { checkpointInterval: '1s' } } });

const create = async (service: Installation, name: string) => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
  const path = '/api/kubernetes/api/v1/namespaces/default/configmaps';
  expect((await service.request(path, { method: 'POST', as: 'admin', body })).status).to.equal(201);
};

const checkpointsOf = async (service: Installation) =>
  checkpointList.parse(await (await service.request('/auth/v1/audit/checkpoints', { as: 'admin' })).json());

const checkpointAt = (service: Installation, sequence: number) =>
  eventually(
    () => checkpointsOf(service),
    ({ items }) => items.some((item) => item.sequence === sequence),
  );

const check = async (service: Installation) =>
  /^\[.\]auditCheckpoints .*$/m.exec(await (await fetch(`${service.metricsURL}/readyz?verbose`)).text())?.[0];

describe('an audit store that is restored with its checkpoints', () => {
  const before = forSuite(start);
  const after = forSuite(start);

  it('is verified by them in an empty cluster, and gets further ones', async () => {
    await before.startStore();
    await create(before, 'one');
    const old = await checkpointAt(before, 1);
    const savedLease = lease.parse((await before.kubernetes.call('GET', `${leases}/atrium-audit`)).body);
    const savedKeys = secret.parse((await before.kubernetes.call('GET', keys)).body);
    await create(before, 'two');
    await checkpointAt(before, 2);
    const running = new DatabaseSync(before.databaseFile, { timeout: 5_000 });
    const known = async () => running.prepare('SELECT max(sequence) AS newest FROM checkpoints').get()?.newest;
    await eventually(known, (newest) => newest === 2);
    running.prepare('VACUUM INTO ?').run(after.databaseFile);
    running.close();

    const found = secret.parse((await after.kubernetes.call('GET', keys)).body);
    const data = { ...found.data, 'audit.jwks': savedKeys.data['audit.jwks'] };
    expect((await after.kubernetes.call('PUT', keys, { ...found, data })).status).to.equal(200);
    const { annotations } = savedLease.metadata;
    const restored = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'atrium-audit', annotations }, spec: {} };
    expect((await after.kubernetes.call('POST', leases, restored)).status).to.equal(201);
    await after.startStore();
    expect(
      await eventually(
        () => check(after),
        (line) => line?.includes('lacks') === true,
      ),
    ).to.include('the Lease atrium-audit lacks the checkpoint at event 2, which the store knows');
    await after.stopStore();
    const database = new DatabaseSync(after.databaseFile);
    database.exec('DELETE FROM checkpoints');
    database.close();
    await after.startStore();

    await create(after, 'three');
    const { items, keys: present } = await checkpointAt(after, 3);
    expect(items[0]?.signed).to.equal(old.items[0]?.signed);
    for (const { signed } of items) expect(await verifiedCheckpoint(signed, old.keys)).not.to.equal(undefined);
    expect(present).to.deep.equal(old.keys);
    const lines = (await (await after.request('/auth/v1/audit/chain', { as: 'admin' })).text()).trimEnd().split('\n').slice(1, -1);
    const events = lines.map((line) => chainedEvent.parse(JSON.parse(line)));
    expect((await verifyChain(events, items)).gap).to.equal(undefined);
    expect(events.slice(0, 3).map(({ event }) => (event as { objectRef: { name: string } }).objectRef.name)).to.deep.equal([
      'one',
      'two',
      'three',
    ]);
    expect(await check(after)).to.equal('[+]auditCheckpoints ok');
  });
});
