import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { type Installation, withAuditStore } from './installation.ts';

const attribute = z.object({
  key: z.string(),
  value: z.union([z.object({ stringValue: z.string() }), z.object({ intValue: z.string() })]),
});

/** ExportLogsServiceRequest (opentelemetry-proto, collector/logs/v1), as far as it is read here. */
const exported = z.object({
  resourceLogs: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeLogs: z.array(
        z.object({
          logRecords: z.array(
            z.object({
              timeUnixNano: z.string().regex(/^\d{19}$/),
              observedTimeUnixNano: z.string().regex(/^\d{19}$/),
              severityNumber: z.number(),
              severityText: z.string(),
              eventName: z.string(),
              body: z.object({ stringValue: z.string() }),
              attributes: z.array(attribute),
              traceId: z.string().optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});

type LogRecord = z.output<typeof exported>['resourceLogs'][number]['scopeLogs'][number]['logRecords'][number];

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
  let collector: Server;
  let collectorPort: number;
  let taken: LogRecord[];
  let authorizations: (string | undefined)[];
  /** Status for a batch of records. */
  let answer: (records: LogRecord[]) => { status: number; body?: object };

  const startCollector = async () => {
    collector = createServer(async (request, response) => {
      const { resourceLogs } = exported.parse(await json(request));
      const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
      const { status, body = {} } = request.url === '/v1/logs' ? answer(records) : { status: 404 };
      authorizations.push(request.headers.authorization);
      if (status === 200) taken.push(...records);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    collectorPort = await listen(collector, collectorPort);
  };
  const append = async (...events: object[]) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${await service.accountToken('atrium-audit-store')}` };
    const { status } = await fetch(`${service.storeURL}/v1/events`, { method: 'POST', headers, body: JSON.stringify({ events }) });
    expect(status).to.equal(204);
  };
  const attributesOf = ({ attributes }: LogRecord) =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : value.stringValue]));
  const ids = () => taken.map((record) => attributesOf(record)['audit.id']);
  const arrived = async (expected: string[]) => {
    await eventually(
      async () => ids(),
      (found) => found.includes(expected.at(-1)),
    );
    expect([...new Set(ids())]).to.deep.equal(expected);
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
    [taken, authorizations, collectorPort] = [[], [], 0];
    answer = () => ({ status: 200 });
    await startCollector();
    const otlp = { endpoint: `http://127.0.0.1:${collectorPort}/`, tokenFile };
    service = await withAuditStore({}, { ...(await databaseSettings()), otlp });
    await service.startStore();
  });
  afterEach(async () => {
    await service.stop();
    await stopListening(collector);
  });

  it('are log records with the whole event, in the order of their arrival, and after a restart of the store once more only new ones', async () => {
    await append(
      event('e1'),
      event('e2', { outcome: 'failure', user: undefined, traceID: 'none', requestReceivedTimestamp: '2026-11-30T09:00:00Z' }),
    );
    await arrived(['e1', 'e2']);
    const [first, second] = taken;
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
    expect(new Set(authorizations)).to.deep.equal(new Set(['Bearer secret-of-the-collector']));
    expect(service.storeLines.join('')).not.to.include('secret-of-the-collector');

    // Events that the store has not marked as sent before its stop are sent again.
    await eventually(metrics, (text) => text.includes('atrium_audit_store_exported_total{outcome="sent"} 2'));
    await service.stopStore();
    await service.startStore();
    await append(event('e3'));
    await arrived(['e1', 'e2', 'e3']);
    expect(ids()).to.deep.equal(['e1', 'e2', 'e3']);
  });

  it('wait for a collector that is away, which a check and one log line tell', async () => {
    await stopListening(collector);
    await append(event('e1'));
    expect(await eventually(check, (line) => line !== '[+]otlp ok')).to.match(/^\[-\]otlp failed \(not critical\): .*ECONNREFUSED/);
    await append(event('e2'));
    await startCollector();
    await arrived(['e1', 'e2']);
    expect(await eventually(check, (line) => line === '[+]otlp ok')).to.equal('[+]otlp ok');
    expect(service.storeLines.filter((line) => line.includes('"msg":"audit events cannot be exported"'))).to.have.length(1);
    expect(await metrics()).to.include('atrium_audit_store_exported_total{outcome="sent"} 2');
  });

  it('keep no others waiting if the collector refuses one, with a status or in its answer', async () => {
    const has = (records: LogRecord[], id: string) => records.some((record) => attributesOf(record)['audit.id'] === id);
    answer = (records) => ({
      status: has(records, 'e3') ? 400 : 200,
      body: has(records, 'e5') ? { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'too long' } } : {},
    });
    await append(...Array.from({ length: 7 }, (_, index) => event(`e${index + 1}`)));
    await eventually(metrics, (text) => text.includes('atrium_audit_store_exported_total{outcome="sent"} 5'));
    expect([...new Set(ids())].toSorted()).to.deep.equal(['e1', 'e2', 'e4', 'e5', 'e6', 'e7']);
    expect(await metrics()).to.include('atrium_audit_store_exported_total{outcome="refused"} 2');
    expect(service.storeLines.filter((line) => line.includes('is refused by the collector'))).to.have.length(2);
  });
}
