import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { type Installation, withAuditStore } from './installation.ts';
import { attributesOf, LogReceiver, type LogRecord } from './log-receiver.ts';

const traceID = '4bf92f3577b34da6a3ce929d0e0e4736';
const event = (auditID: string, parts: object = {}) => ({
  ...{ auditID, cluster: 'local', source: 'door', verb: 'delete', sourceIPs: [], outcome: 'success', traceID },
  ...{ user: { username: 'ada@example.com' }, objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'cart-0' } },
  requestReceivedTimestamp: '2026-11-30T10:00:00.000Z',
  ...parts,
});

/** Tests of the copies of events at a collector of logs that hold on each database. */
export function itExportsEvents(databaseSettings: () => Promise<object> = async () => ({})): void {
  let [directory, tokenFile] = ['', ''];
  let service: Installation;
  let collector: LogReceiver;

  const append = async (...events: object[]) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${await service.accountToken('atrium-audit-store')}` };
    const { status } = await fetch(`${service.storeURL}/v1/events`, { method: 'POST', headers, body: JSON.stringify({ events }) });
    expect(status).to.equal(204);
  };
  const arrived = async (expected: string[]) => {
    await eventually(
      async () => collector.ids(),
      (found) => found.includes(expected.at(-1)),
    );
    expect([...new Set(collector.ids())]).to.deep.equal(expected);
  };
  const metrics = async () => (await fetch(`${service.storeMetricsURL()}/metrics`)).text();
  const check = async () => /^\[.\]otlp .*$/m.exec(await (await fetch(`${service.storeMetricsURL()}/readyz?verbose`)).text())?.[0];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-collector-'));
    tokenFile = join(directory, 'token');
    await writeFile(tokenFile, 'secret-of-the-collector\n');
  });
  after(() => rm(directory, { recursive: true }));
  beforeEach(async () => {
    collector = new LogReceiver();
    await collector.start();
    const otlp = { endpoint: `http://127.0.0.1:${collector.port}/`, tokenFile };
    service = await withAuditStore({}, { ...(await databaseSettings()), otlp });
    await service.startStore();
  });
  afterEach(async () => {
    await service.stop();
    await collector.stop();
  });

  it('are log records with the whole event, in the order of their arrival, and after a restart of the store once more only new ones', async () => {
    await append(
      event('e1'),
      event('e2', { outcome: 'failure', user: undefined, traceID: 'none', requestReceivedTimestamp: '2026-11-30T09:00:00Z' }),
    );
    await arrived(['e1', 'e2']);
    const [first, second] = collector.taken;
    if (first === undefined || second === undefined) throw new Error('records are missing');
    expect(first).to.include({ severityText: 'INFO', severityNumber: 9, eventName: 'atrium.audit', traceId: traceID });
    expect(first.timeUnixNano).to.equal(`${Date.parse('2026-11-30T10:00:00Z')}000000`);
    expect(JSON.parse(first.body.stringValue)).to.deep.include(event('e1'));
    expect(attributesOf(first)).to.deep.include({
      ...{ 'audit.id': 'e1', 'audit.sequence': 1, 'audit.verb': 'delete', 'audit.resource': 'pods', 'audit.name': 'cart-0' },
      ...{ 'audit.outcome': 'success', 'k8s.cluster.name': 'local', 'k8s.namespace.name': 'shop', 'user.name': 'ada@example.com' },
    });
    expect(attributesOf(first)['audit.hash']).to.match(/^[0-9a-f]{64}$/);
    expect(second).to.include({ severityText: 'WARN', severityNumber: 13 }).and.not.have.property('traceId');
    expect(attributesOf(second)).not.to.have.property('user.name');
    expect(new Set(collector.authorizations)).to.deep.equal(new Set(['Bearer secret-of-the-collector']));
    expect(service.storeLines.join('')).not.to.include('secret-of-the-collector');

    // Events that the store has not marked as sent before its stop are sent again.
    await eventually(metrics, (text) => text.includes('atrium_audit_store_exported_total{outcome="sent"} 2'));
    await service.stopStore();
    await service.startStore();
    await append(event('e3'));
    await arrived(['e1', 'e2', 'e3']);
    expect(collector.ids()).to.deep.equal(['e1', 'e2', 'e3']);
  });

  it('wait for a collector that is away, which a check and one log line tell', async () => {
    await collector.stop();
    await append(event('e1'));
    expect(await eventually(check, (line) => line !== '[+]otlp ok')).to.match(/^\[-\]otlp failed \(not critical\): .*ECONNREFUSED/);
    await append(event('e2'));
    await collector.start();
    await arrived(['e1', 'e2']);
    expect(await eventually(check, (line) => line === '[+]otlp ok')).to.equal('[+]otlp ok');
    expect(service.storeLines.filter((line) => line.includes('"msg":"audit events cannot be exported"'))).to.have.length(1);
    expect(await metrics()).to.include('atrium_audit_store_exported_total{outcome="sent"} 2');
  });

  it('keep no others waiting if the collector refuses one, with a status or in its answer', async () => {
    const has = (records: readonly LogRecord[], id: string) => records.some((record) => attributesOf(record)['audit.id'] === id);
    collector.answer = (records) => ({
      status: has(records, 'e3') ? 400 : 200,
      body: has(records, 'e5') ? { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'too long' } } : {},
    });
    await append(...Array.from({ length: 7 }, (_, index) => event(`e${index + 1}`)));
    await eventually(metrics, (text) => text.includes('atrium_audit_store_exported_total{outcome="sent"} 5'));
    expect([...new Set(collector.ids())].toSorted()).to.deep.equal(['e1', 'e2', 'e4', 'e5', 'e6', 'e7']);
    expect(await metrics()).to.include('atrium_audit_store_exported_total{outcome="refused"} 2');
    expect(service.storeLines.filter((line) => line.includes('is refused by the collector'))).to.have.length(2);
  });
}
