import { copyFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { type Checkpoint, verifyChain } from '@atrium/audit-store/chain.ts';
import { signedCheckpoint, verifiedCheckpoint } from '@atrium/audit-store/signed-checkpoints.ts';
import { chainedEvent } from '@atrium/audit-store/store.ts';
import { expect } from 'chai';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { auditStatus } from '../../../src/activity/schema.ts';
import { checkpointList } from '../../../src/audit-chain/schema.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type Installation, withAuditStore } from '../audit-store/installation.ts';

const configMaps = '/api/kubernetes/api/v1/namespaces/default/configmaps';
const checkpointsPath = '/auth/v1/audit/checkpoints';
const chainPath = '/auth/v1/audit/chain';

async function anInstallation(): Promise<Installation> {
  const installation = await withAuditStore({ config: { audit: { checkpointInterval: '1s' } } });
  await installation.startStore();
  return installation;
}

describe('checkpoints of the audit', () => {
  const service = forSuite(anInstallation);
  const create = async (name: string) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    expect((await service.request(configMaps, { method: 'POST', as: 'admin', body })).status).to.equal(201);
  };
  const list = async () => {
    const response = await service.request(checkpointsPath, { as: 'admin' });
    expect(response.status).to.equal(200);
    return checkpointList.parse(await response.json());
  };
  /** Waits for a checkpoint at an event. */
  const checkpointAt = async (sequence: number) => {
    const { items, keys } = await eventually(list, ({ items }) => items.some((item) => item.sequence === sequence));
    return { signed: items.find((item) => item.sequence === sequence)?.signed ?? '', keys, items };
  };
  const chain = async () => {
    const response = await service.request(chainPath, { as: 'admin' });
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'application/x-ndjson']);
    const lines = (await response.text()).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const check = async () => /^\[.\]auditCheckpoints .*$/m.exec(await (await fetch(`${service.metricsURL}/readyz?verbose`)).text())?.[0];
  /** Returns the count of the alert `AtriumAuditContradicted`; undefined without one. */
  const refused = async () => {
    const metrics = await (await fetch(`${service.metricsURL}/metrics`)).text();
    const [, count] = /^atrium_audit_checkpoints_total\{outcome="refused"\} (\d+)$/m.exec(metrics) ?? [];
    return count === undefined ? undefined : Number(count);
  };
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/atrium-audit`;
  const state = async () => {
    const response = await service.request('/auth/v1/audit/status', { as: 'admin' });
    return auditStatus.parse(await response.json()).checkpoints;
  };
  const isAlerted = async () => {
    const { ext } = (await (await service.request('/api/v2/token/info', { as: 'admin' })).json()) as { ext: { audit_alert?: boolean } };
    return ext.audit_alert === true;
  };

  it('are signed for new events, and verify the lines of the whole audit', async () => {
    await create('one');
    await create('two');
    const { signed, keys } = await checkpointAt(2);
    const checkpoint = await verifiedCheckpoint(signed, keys);
    const [head, ...lines] = await chain();
    const events = lines.slice(0, -1).map((line) => chainedEvent.parse(line));
    // The read of the audit may be the third one.
    expect(lines.at(-1)).to.deep.equal({ last: events.length });
    const names = events.map(({ event }) => (event as { objectRef: { name: string } }).objectRef.name);
    expect(names.slice(0, 2)).to.deep.equal(['one', 'two']);
    expect(head?.checkpoints).to.include(signed);
    expect(await verifyChain(events, checkpoint ? [checkpoint] : [])).to.deep.equal({
      verified: events.length,
      gap: undefined,
    });
    expect(await check()).to.equal('[+]auditCheckpoints ok');
  });

  it('have a state: the newest one, and the number of the events after it', async () => {
    const { items } = await checkpointAt(2);
    const covered = await eventually(state, (found) => found?.newest?.sequence === items.at(-1)?.sequence && found?.eventsAfter === 0);
    expect(covered).to.deep.equal({
      state: 'Signed',
      newest: { sequence: items.at(-1)?.sequence, signedAt: items.at(-1)?.time },
      eventsAfter: 0,
    });
    expect(await isAlerted()).to.equal(false);
  });

  it('are written to the log of the service', async () => {
    const { signed } = await checkpointAt(2);
    expect(service.logLines.some((line) => line.includes('checkpoint of the audit is signed') && line.includes(signed))).to.equal(true);
  });

  it('are for callers who may list audits of the cluster alone, and a read of the audit is an event', async () => {
    for (const path of [checkpointsPath, chainPath]) {
      expect((await service.request(path)).status, path).to.equal(401);
      expect((await service.request(path, { as: 'carol' })).status, path).to.equal(403);
    }
    expect(service.auditLines.filter((line) => line.includes('"AuditExported"'))).to.have.length(1);
    const response = await eventually(
      () => service.request('/auth/v1/audit?event=AuditExported', { as: 'admin' }).then((answer) => answer.json()),
      (found) => (found as { items: object[] }).items.length === 1,
    );
    expect(JSON.stringify(response)).to.include('"resource":"audits"');
  });

  it('stay valid after the key was rotated', async () => {
    // The question of the test before is the fourth event.
    const { signed, keys } = await checkpointAt(4);
    const path = `/api/v1/namespaces/${serviceNamespace}/secrets/atrium-keys`;
    const secret = (await service.kubernetes.call('GET', path)).body as { data: Record<string, string> };
    const stored = JSON.parse(Buffer.from(secret.data['audit.jwks'] ?? '', 'base64').toString()) as { keys: object[] };
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const rotated = JSON.stringify({ keys: [await exportJWK(privateKey), ...stored.keys] });
    const data = { ...secret.data, 'audit.jwks': Buffer.from(rotated).toString('base64') };
    expect((await service.kubernetes.call('PUT', path, { ...secret, data })).status).to.equal(200);
    await create('after-rotation');
    const newer = await checkpointAt(5);
    expect(newer.keys).to.have.length(2);
    expect(newer.items.map((item) => item.signed)).to.include(signed);
    expect(await verifiedCheckpoint(newer.signed, keys)).to.equal(undefined);
    expect(await verifiedCheckpoint(newer.signed, newer.keys)).to.include({ sequence: 5 });
    expect(await verifiedCheckpoint(signed, newer.keys)).to.include({ sequence: 4 });
    expect(JSON.stringify(newer.keys)).not.to.include('"d"');
  });

  it('are refused to a database that was rolled back, and the check, the log and the metric of an alert tell it', async () => {
    expect(await refused()).to.equal(0);
    await service.stopStore();
    await copyFile(service.databaseFile, `${service.databaseFile}.old`);
    await service.startStore();
    await create('lost');
    await checkpointAt(6);
    await service.stopStore();
    await copyFile(`${service.databaseFile}.old`, service.databaseFile);
    await service.startStore();
    const missing = 'event 6 of the audit, which has a signed checkpoint, is missing in the store';
    expect(await eventually(check, (line) => line?.includes('missing in the store') === true)).to.equal(
      `[-]auditCheckpoints failed (not critical): ${missing}`,
    );
    await create('another');
    const other = missing.replace('missing', 'another one');
    expect(await eventually(check, (line) => line?.includes('another one') === true)).to.include(other);
    expect((await list()).items.at(-1)).to.include({ sequence: 6 });
    expect(await state()).to.deep.include({ state: 'Refused', reason: other });
    expect((await state())?.newest?.sequence).to.equal(6);
    expect(await isAlerted()).to.equal(true);
    expect(service.logLines.some((line) => line.includes('"level":"error"') && line.includes(missing))).to.equal(true);
    expect(await refused()).to.be.greaterThan(0);
  });

  it('are refused once the kept ones were rolled back', async () => {
    const { body } = await service.kubernetes.call('GET', lease);
    const found = body as { metadata: { annotations: Record<string, string> } };
    found.metadata.annotations['auth.platform.io/audit-checkpoints'] = '[]';
    const put = async () => {
      const { resourceVersion } = ((await service.kubernetes.call('GET', lease)).body as { metadata: { resourceVersion: string } })
        .metadata;
      return (await service.kubernetes.call('PUT', lease, { ...found, metadata: { ...found.metadata, resourceVersion } })).status;
    };
    expect(await eventually(put, (status) => status === 200)).to.equal(200);
    expect(await eventually(check, (line) => line?.includes('lacks') === true)).to.include(
      'the Lease atrium-audit lacks the checkpoint at event 6, which the store knows',
    );
    expect((await list()).items).to.deep.equal([]);
  });
});

describe('checkpoints of an audit whose oldest events were deleted', () => {
  const service = forSuite(anInstallation);
  const list = async () => checkpointList.parse(await (await service.request(checkpointsPath, { as: 'admin' })).json());
  const check = async () => /^\[.\]auditCheckpoints .*$/m.exec(await (await fetch(`${service.metricsURL}/readyz?verbose`)).text())?.[0];
  const create = async (name: string) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    expect((await service.request(configMaps, { method: 'POST', as: 'admin', body })).status).to.equal(201);
  };

  it('are refused, and the older ones stay, until the events are back', async () => {
    for (const sequence of [1, 2, 3]) {
      await create(`item-${sequence}`);
      await eventually(list, ({ items }) => items.some((item) => item.sequence === sequence));
    }
    const database = new DatabaseSync(service.databaseFile, { timeout: 5_000 });
    const rows = database.prepare('SELECT * FROM events WHERE sequence <= 2 ORDER BY sequence').all();
    database.exec('DELETE FROM events WHERE sequence <= 2');
    expect(await eventually(check, (line) => line?.includes('failed') === true)).to.equal(
      '[-]auditCheckpoints failed (not critical): the store begins at event 3, and no signed checkpoint allows the removal of event 1: ' +
        'docs/audit.md has the steps after an earlier version',
    );
    expect((await list()).items.map(({ sequence, removed }) => [sequence, removed?.sequence])).to.deep.equal(
      [1, 2, 3].map((sequence) => [sequence, 0]),
    );
    const columns = Object.keys(rows[0] ?? {});
    const insert = database.prepare(`INSERT INTO events (${columns.join()}) VALUES (${columns.map(() => '?').join()})`);
    for (const row of rows) insert.run(...columns.map((column) => row[column] ?? null));
    database.close();
    await eventually(check, (line) => line?.endsWith('ok') === true);
  });

  /** Returns checkpoints as an earlier version has signed them. */
  const former = async (items: readonly Checkpoint[]) => {
    const { keys } = await list();
    const path = `/api/v1/namespaces/${serviceNamespace}/secrets/atrium-keys`;
    const { data } = (await service.kubernetes.call('GET', path)).body as { data: Record<string, string> };
    const [stored] = (JSON.parse(Buffer.from(data['audit.jwks'] ?? '', 'base64').toString()) as { keys: JWK[] }).keys;
    const key = { ...stored, kid: keys[0]?.kid ?? '' };
    return Promise.all(items.map(({ sequence, hash, time, count }) => signedCheckpoint({ sequence, hash, time, count }, key)));
  };
  /** Exchanges the checkpoints of the Lease, and changes the database, while no store runs. */
  const change = async (checkpoints: readonly string[] | undefined, statement: string) => {
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/atrium-audit`;
    const annotations = { 'auth.platform.io/audit-checkpoints': checkpoints === undefined ? null : JSON.stringify(checkpoints) };
    await service.stopStore();
    const mergePatch = { 'content-type': 'application/merge-patch+json' };
    expect((await service.kubernetes.call('PATCH', lease, { metadata: { annotations } }, mergePatch)).status).to.equal(200);
    const database = new DatabaseSync(service.databaseFile);
    database.exec(statement);
    database.close();
    await service.startStore();
  };

  it('take the begin of the store as it is after checkpoints of earlier versions', async () => {
    const { items } = await list();
    await change(await former(items), 'DELETE FROM events WHERE sequence <= 1');
    await create('item-4');
    const signed = await eventually(list, (found) => found.items.some(({ sequence }) => sequence === 4));
    expect(signed.items.at(-1)?.removed).to.deep.equal({ sequence: 1, hash: items[0]?.hash });
    expect(await check()).to.equal('[+]auditCheckpoints ok');
  });

  it('are refused after a removal by an earlier version, and signed again after the steps of docs/audit.md', async () => {
    await create('item-5');
    const { items } = await eventually(list, (found) => found.items.some(({ sequence }) => sequence === 5));
    const [newest] = items.slice(-1);
    const signed = items.slice(0, -1).map((item) => item.signed);
    // The earlier version has signed the newest checkpoint, and has removed events by an earlier one.
    await change([...signed, ...(await former(newest ? [newest] : []))], 'DELETE FROM events WHERE sequence <= 3');
    const refusal = 'the store begins at event 4, and no signed checkpoint allows the removal of event 2: docs/audit.md has the steps';
    // The store may not be reachable at first.
    expect(await eventually(check, (line) => line?.includes(refusal) === true)).to.include('failed');
    await create('item-6');

    await change(undefined, 'DELETE FROM checkpoints');
    const further = await eventually(list, (found) => found.items.some(({ sequence }) => sequence === 6));
    expect(await eventually(check, (line) => line?.endsWith('ok') === true)).to.equal('[+]auditCheckpoints ok');
    const response = await service.request(chainPath, { as: 'admin' });
    const lines = (await response.text()).split('\n').slice(1, -2);
    const events = lines.map((line) => chainedEvent.parse(JSON.parse(line)));
    expect(events[0]?.sequence).to.equal(4);
    // The saved checkpoints prove the events that are left.
    expect((await verifyChain(events, [...items, ...further.items])).gap).to.equal(undefined);
    const [first, ...others] = events;
    const forged = [...(first ? [{ ...first, hash: '0'.repeat(64) }] : []), ...others];
    expect((await verifyChain(forged, items)).gap).not.to.equal(undefined);
  });
});
