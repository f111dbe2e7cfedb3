/** Copies of audit events at the receiver of the collector of OpenTelemetry, which passes them on to a receiver of the test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { collectorProgram } from '../../cluster/build.ts';
import { Program } from '../../cluster/program.ts';
import { type Installation, withAuditStore } from '../../service/audit-store/installation.ts';
import { attributesOf, LogReceiver } from '../../service/audit-store/log-receiver.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';

const maxBytes = 16_384;
const traceID = '4bf92f3577b34da6a3ce929d0e0e4736';
const event = (auditID: string, parts: object = {}) => ({
  ...{ auditID, cluster: 'local', source: 'door', verb: 'delete', sourceIPs: [], outcome: 'success', traceID },
  ...{ user: { username: 'ada@example.com' }, objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'cart-0' } },
  requestReceivedTimestamp: '2026-11-30T10:00:00.000Z',
  ...parts,
});

/** A store, the collector, and the receiver behind it. */
async function anExport() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-collector-'));
  const receiver = new LogReceiver();
  await receiver.start();
  const address = `127.0.0.1:${await freePort()}`;
  const isReady = () =>
    fetch(`http://${address}/v1/logs`).then(
      () => true,
      () => false,
    );
  const flags = { address, 'max-bytes': `${maxBytes}`, url: `http://127.0.0.1:${receiver.port}` };
  const collector = new Program(await collectorProgram(), flags, { directory, isReady });
  await collector.start();
  const service: Installation = await withAuditStore({}, { otlp: { endpoint: `http://${address}` } });
  await service.startStore();
  return {
    ...{ service, receiver, collector },
    async append(...events: object[]) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${await service.accountToken('atrium-audit-store')}` };
      const { status } = await fetch(`${service.storeURL}/v1/events`, { method: 'POST', headers, body: JSON.stringify({ events }) });
      expect(status).to.equal(204);
    },
    metrics: async () => (await fetch(`${service.storeMetricsURL()}/metrics`)).text(),
    check: async () => /^\[.\]otlp .*$/m.exec(await (await fetch(`${service.storeMetricsURL()}/readyz?verbose`)).text())?.[0],
    async stop() {
      await service.stop();
      await collector.kill();
      await receiver.stop();
      await rm(directory, { recursive: true });
    },
  };
}

describe('copies of audit events at the collector of OpenTelemetry', () => {
  const fixture = forSuite(anExport);
  const arrived = (id: string) => eventually(fixture.receiver.ids, (ids) => ids.includes(id));
  const counted = (outcome: string, count: number) =>
    eventually(fixture.metrics, (text) => text.includes(`atrium_audit_store_exported_total{outcome="${outcome}"} ${count}\n`));

  it('arrive with time, severity, trace, body and attributes', async () => {
    const { append, receiver } = fixture;
    await append(event('e1'), event('e2', { outcome: 'failure', traceID: undefined, requestReceivedTimestamp: '2026-11-30T09:00:00Z' }));
    await arrived('e2');
    const [first, second] = receiver.taken;
    if (first === undefined || second === undefined) throw new Error('records are missing');
    expect(first).to.include({ severityText: 'INFO', severityNumber: 9, eventName: 'atrium.audit', traceId: traceID });
    expect(first.timeUnixNano).to.equal(`${Date.parse('2026-11-30T10:00:00Z')}000000`);
    expect(JSON.parse(first.body.stringValue)).to.deep.include(event('e1'));
    expect(attributesOf(first)).to.deep.include({
      ...{ 'audit.id': 'e1', 'audit.sequence': 1, 'audit.verb': 'delete', 'audit.resource': 'pods', 'audit.name': 'cart-0' },
      ...{ 'audit.outcome': 'success', 'k8s.cluster.name': 'local', 'k8s.namespace.name': 'shop', 'user.name': 'ada@example.com' },
    });
    expect(second).to.include({ severityText: 'WARN', severityNumber: 13 });
    expect(second.traceId ?? '').to.equal('');
    expect(receiver.resources[0]).to.include({ 'service.name': 'atrium-audit-store' });
    expect(receiver.scopes[0]).to.equal('atrium.audit');
    await counted('sent', 2);
  });

  it('wait while the collector is away, which a check and a log line tell', async () => {
    const { append, collector, check, service } = fixture;
    await collector.kill();
    await append(event('e3'));
    expect(await eventually(check, (line) => line !== '[+]otlp ok')).to.match(/^\[-\]otlp failed \(not critical\): /);
    await append(event('e4'));
    await collector.start();
    await arrived('e4');
    await counted('sent', 4);
    expect([...new Set(fixture.receiver.ids())]).to.deep.equal(['e1', 'e2', 'e3', 'e4']);
    expect(await eventually(check, (line) => line === '[+]otlp ok')).to.equal('[+]otlp ok');
    expect(service.storeLines.filter((line) => line.includes('"msg":"audit events cannot be exported"'))).to.have.length(1);
    expect(service.storeLines.filter((line) => line.includes('"msg":"audit events are exported again"'))).to.have.length(1);
  });

  it('wait while the system behind the collector is away', async () => {
    const { append, check, receiver } = fixture;
    receiver.answer = () => ({ status: 503 });
    await append(event('e5'));
    expect(await eventually(check, (line) => line !== '[+]otlp ok')).to.equal('[-]otlp failed (not critical): status 503');
    receiver.answer = () => ({ status: 200 });
    await arrived('e5');
    await counted('sent', 5);
  });

  it('leave out an event that is too long for the collector, and tell its number', async () => {
    const { append, receiver, service } = fixture;
    await append(event('e6'), event('long', { requestObject: 'x'.repeat(2 * maxBytes) }), event('e7'));
    await arrived('e7');
    await counted('sent', 7);
    await counted('refused', 1);
    expect(receiver.ids()).to.include('e6').and.not.include('long');
    const lines = service.storeLines.filter((line) => line.includes('is refused by the collector'));
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include('"sequence":7');
  });
});
