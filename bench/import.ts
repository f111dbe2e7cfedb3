/**
 * Measures callers while the leader writes the statuses of users that kubectl has imported, with the bounded share of a backlog and with
 * the share made unbounded, in turns of one run. The rate of callers is a ratio to that of the same replica before it leads. Ends by itself,
 * in about two minutes.
 *
 * [TEST_CLUSTER=real] node bench/import.ts [--users 3000] [--turns 2] [--seconds 6] (after `npm run web`)
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { Replica } from '../test/cluster/replicas/replica.ts';
import { aUser } from '../test/service/users/a-user.ts';
import { apiServer } from '../test/support/api-server.ts';
import { ClusterAdmin, eventually, serviceNamespace } from '../test/support/cluster-admin.ts';

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '3000' },
    turns: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '6' },
  },
});
const userCount = Number(values.users);
const seconds = Number(values.seconds);
const callers = 8;
const programs = { bounded: new URL('../src/atrium.js', import.meta.url), unbounded: new URL('unbounded-backlog.ts', import.meta.url) };
type Share = keyof typeof programs;

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const cluster = await apiServer();
const token = await cluster.token('admin');
const admin = new ClusterAdmin(cluster, token);
await admin.install();
const leases = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases`;

async function writeFiles(): Promise<string> {
  const { url: server, certificateAuthority } = cluster;
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } }],
    users: [{ name: 'u', user: { token: await admin.serviceToken() } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: serviceNamespace } }],
    'current-context': 'x',
  };
  const config = {
    server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: 'http://localhost:8080' },
    kubernetes: { kubeconfig: join(directory, 'kubeconfig'), namespace: serviceNamespace },
    console: { static: { directory: fileURLToPath(new URL('../web/dist', import.meta.url)) } },
  };
  await writeFile(config.kubernetes.kubeconfig, stringify(kubeconfig));
  await writeFile(join(directory, 'config.yaml'), stringify(config));
  return join(directory, 'config.yaml');
}

/** Keeps the Lease of the leader from every replica. */
async function holdLease(): Promise<void> {
  const now = new Date().toISOString().replace('Z', '000Z');
  await admin.call('DELETE', `${leases}/atrium-user-states`);
  await admin.apply({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'atrium-user-states', namespace: serviceNamespace },
    spec: { holderIdentity: 'bench', leaseDurationSeconds: 3600, acquireTime: now, renewTime: now },
  });
}

/** Sends requests one after the other, half of which need the API server, until `isOver`. */
async function call(replica: Replica, state: { isOver: boolean; answered: number }): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (let n = 0; !state.isOver; n += 1) {
    const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'shop', name: crypto.randomUUID() };
    const answer =
      n % 2 === 0
        ? await fetch(`${replica.url}/auth/v1/selfsubjectaccessreviews`, {
            method: 'POST',
            headers,
            body: JSON.stringify({ spec: { resourceAttributes } }),
          })
        : await fetch(`${replica.url}/auth/v2/users?limit=20`, { headers });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${answer.status}`);
    state.answered += 1;
  }
}

/** Measures callers until the work is done. @returns requests a second */
async function measure(replica: Replica, work: Promise<unknown>): Promise<number> {
  const state = { isOver: false, answered: 0 };
  const begun = performance.now();
  const calls = Promise.all(Array.from({ length: callers }, () => call(replica, state)));
  await Promise.race([work, calls]);
  state.isOver = true;
  await calls;
  return (1000 * state.answered) / (performance.now() - begun);
}

const metricOf = async (replica: Replica, name: string) => {
  const text = await (await fetch(replica.readyURL.replace('/readyz', '/metrics'))).text();
  return Number(new RegExp(`^${name.replace(/[{}"]/g, '\\$&')} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
};

let imported = 0;
async function importUsers(): Promise<void> {
  const users = Array.from({ length: userCount }, () => aUser(`imported-${imported++}@example.com`));
  while (users.length > 0) await Promise.all([0, 1, 2, 3].map(() => admin.apply(...users.splice(0, 50))));
}

/** A turn: an import, callers at a replica that does not lead, and callers at the same replica while it writes. */
async function turn(share: Share, configFile: string) {
  await holdLease();
  await importUsers();
  const replica = await Replica.start(`${share}-${imported}`, { program: fileURLToPath(programs[share]), configFile });
  process.once('exit', () => replica.abandon());
  await replica.whenReady();
  await eventually(
    () => metricOf(replica, 'atrium_watch_objects{watch="users"}'),
    (count) => count >= imported,
    120_000,
  );
  await measure(replica, sleep(1_000));
  const quiet = await measure(replica, sleep(seconds * 1000));
  const depth = () => metricOf(replica, 'atrium_controller_queue_depth{controller="user-states"}');
  await admin.call('DELETE', `${leases}/atrium-user-states`);
  await eventually(depth, (count) => count > 0);
  const begun = performance.now();
  // An unbounded backlog may end before.
  const end = eventually(depth, (count) => count === 0 || performance.now() - begun > seconds * 1000, 60_000);
  const busy = await measure(replica, end);
  const left = await end;
  const mostMiB = await replica.residentMiB();
  await replica.kill();
  return { share, quiet: Math.round(quiet), busy: Math.round(busy), kept: busy / quiet, left, mostMiB };
}

const configFile = await writeFiles();
const results: Awaited<ReturnType<typeof turn>>[] = [];
for (let index = 0; index < Number(values.turns); index += 1)
  for (const share of ['bounded', 'unbounded'] as const) results.push(await turn(share, configFile));
console.table(results.map(({ kept, ...result }) => ({ ...result, kept: `${(100 * kept).toFixed(0)} %` })));
const keptBy = (share: Share) => {
  const of = results.filter((result) => result.share === share);
  return of.reduce((sum, { kept }) => sum + kept, 0) / of.length;
};
const [bounded, unbounded] = [keptBy('bounded'), keptBy('unbounded')];
console.log(
  `callers keep ${(100 * bounded).toFixed(0)} % of their rate with the share, ${(100 * unbounded).toFixed(0)} % without: ${(bounded / unbounded).toFixed(1)} times as much`,
);

await admin.close();
await cluster.stop();
await rm(directory, { recursive: true });
process.exit(0);
