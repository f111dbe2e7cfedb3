/**
 * Measures the processor time of the longest turn of the event loop while the audit store takes batches of the audit webhook of 10 MiB, which
 * another process sends. Aim: less than 20 ms. Other work on the machine does not change it.
 *
 * node bench/audit-webhook.ts [sqlite|postgres]
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withAuditStore } from '../test/service/audit-store/installation.ts';
import { Postgres } from '../test/tools/postgres/postgres.ts';
import { Turns } from './turns.ts';

const webhookToken = 'the-token-of-the-benchmark';
const batches = 5;
const maxBytes = 10 * 1024 * 1024;
const database = process.argv[2] === 'postgres' ? 'postgres' : 'sqlite';

const anEvent = (id: string, bodyBytes: number) => ({
  ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'RequestResponse', auditID: id, stage: 'ResponseComplete', verb: 'patch' },
  requestURI: '/api/v1/namespaces/default/configmaps/settings?fieldManager=kubectl',
  user: { username: 'noa', uid: 'u-noa', groups: ['system:authenticated'] },
  ...{ sourceIPs: ['192.0.2.9'], userAgent: 'kubectl/v1.36.0 (linux/amd64) kubernetes/3a4c5b7' },
  objectRef: { resource: 'configmaps', namespace: 'default', name: 'settings', apiVersion: 'v1' },
  responseStatus: { metadata: {}, code: 200 },
  requestObject: {
    kind: 'ConfigMap',
    data: Object.fromEntries(Array.from({ length: bodyBytes / 64 }, (_, n) => [`key-${n}`, 'x'.repeat(50)])),
  },
  requestReceivedTimestamp: '2026-11-29T10:00:00.123456Z',
  stageTimestamp: '2026-11-29T10:00:00.135456Z',
  annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
});

const postgres = database === 'postgres' ? await Postgres.start({ waitsForDisk: true }) : undefined;
const directory = await mkdtemp(join(tmpdir(), 'atrium-webhook-bench-'));
const urlFile = join(directory, 'url');
if (postgres !== undefined) await writeFile(urlFile, await postgres.database());
const service = await withAuditStore({ webhookToken }, postgres === undefined ? {} : { postgres: { urlFile } });
await service.startStore();
for (const [count, bodyBytes] of [
  [400, 24_000],
  [9_000, 0],
  [1, 9_000_000],
] as const) {
  const turns = new Turns();
  for (let batch = 0; batch < batches; batch += 1) {
    const items = Array.from({ length: count }, (_, index) => anEvent(`${count}-${batch}-${index}`, bodyBytes));
    const body = JSON.stringify({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items });
    if (body.length > maxBytes) throw new Error(`the batch has ${body.length} bytes`);
    const file = join(directory, 'batch.json');
    await writeFile(file, body);
    const headers = ['--header', `Authorization: Bearer ${webhookToken}`, '--header', 'Content-Type: application/json'];
    const target = `${service.storeURL}/v1/kube-apiserver`;
    turns.begin();
    await promisify(execFile)('curl', ['--fail', '--silent', ...headers, '--data-binary', `@${file}`, target]);
    turns.end();
  }
  console.log(
    `${database}: ${batches} batches of ${count} events, longest turn ${turns.longestMs.toFixed(1)} ms, load ${loadavg()[0]?.toFixed(1)}`,
  );
}
await service.stop();
await postgres?.stop();
await rm(directory, { recursive: true });
