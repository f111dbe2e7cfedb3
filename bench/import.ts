/**
 * Measures callers while the leader writes the statuses of users that kubectl has imported: their rate beside that of the same replica
 * with the same users before it leads, in one run, and its memory. Ends by itself.
 *
 * TEST_CLUSTER=real node bench/import.ts [--users 3000] [--program dist/atrium.js] [--seconds 15] (after `npm run build`)
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { Replica } from '../test/cluster/replicas/replica.ts';
import { aUser } from '../test/service/users/a-user.ts';
import { apiServer } from '../test/support/api-server.ts';
import { ClusterAdmin, eventually, serviceNamespace } from '../test/support/cluster-admin.ts';

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '3000' },
    program: { type: 'string', default: 'dist/atrium.js' },
    seconds: { type: 'string', default: '15' },
  },
});
const userCount = Number(values.users);
const seconds = Number(values.seconds);
const callers = 8;
const maxSeconds = 240;

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const cluster = await apiServer();
const token = await cluster.token('admin');
const admin = new ClusterAdmin(cluster, token);
await admin.install();
const lease = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/atrium-user-states`;
const now = new Date().toISOString().replace('Z', '000Z');
await admin.apply({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'atrium-user-states', namespace: serviceNamespace },
  spec: { holderIdentity: 'bench', leaseDurationSeconds: 3600, acquireTime: now, renewTime: now },
});

const kubeconfigFile = join(directory, 'kubeconfig');
await writeFile(
  kubeconfigFile,
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server: cluster.url, 'certificate-authority-data': Buffer.from(cluster.certificateAuthority).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token: await admin.serviceToken() } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: serviceNamespace } }],
    'current-context': 'x',
  }),
);
const configFile = join(directory, 'config.yaml');
await writeFile(
  configFile,
  stringify({
    server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: 'http://localhost:8080' },
    kubernetes: { kubeconfig: kubeconfigFile, namespace: serviceNamespace },
    console: { static: { directory: new URL('../web/dist', import.meta.url).pathname } },
  }),
);
const replica = await Replica.start('bench', { program: resolve(values.program), configFile });
process.on('exit', () => replica.abandon());
await replica.whenReady();

/** Sends requests one after the other, half of which need the API server, until `isOver`. */
async function call(state: { isOver: boolean; answered: number }): Promise<void> {
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

/** Measures callers until the work is done. */
async function measure(what: string, work: Promise<unknown>): Promise<number> {
  const state = { isOver: false, answered: 0 };
  const begun = performance.now();
  let mostMiB = 0;
  const watching = setInterval(async () => {
    mostMiB = Math.max(mostMiB, await replica.residentMiB());
  }, 200);
  const calls = Promise.all(Array.from({ length: callers }, () => call(state)));
  await Promise.race([work, calls]);
  state.isOver = true;
  await calls;
  clearInterval(watching);
  const lasted = (performance.now() - begun) / 1000;
  const rate = state.answered / lasted;
  console.log(`${what}: ${rate.toFixed(0)} requests/s for ${lasted.toFixed(0)} s, at most ${mostMiB} MiB resident`);
  return rate;
}

const users = Array.from({ length: userCount }, (_, index) => aUser(`imported-${index}@example.com`));
while (users.length > 0) await Promise.all([0, 1, 2, 3].map(() => admin.apply(...users.splice(0, 50))));
const metric = async (name: string) => {
  const text = await (await fetch(replica.readyURL.replace('/readyz', '/metrics'))).text();
  return Number(new RegExp(`^${name.replace(/[{}"]/g, '\\$&')} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
};
await eventually(
  () => metric('atrium_watch_objects{watch="users"}'),
  (count) => count >= userCount,
  120_000,
);
await measure('warm-up', sleep(3_000));
const quiet = await measure('quiet', sleep(seconds * 1000));
await admin.call('DELETE', lease);
let left = userCount;
const written = eventually(
  async () => {
    left = await metric('atrium_controller_queue_depth{controller="user-states"}');
    return left;
  },
  (depth) => depth === 0,
  maxSeconds * 1000,
).catch(() => undefined);
await eventually(
  () => metric('atrium_controller_queue_depth{controller="user-states"}'),
  (depth) => depth > 0,
);
const busy = await measure('while statuses are written', written);
console.log(`${left} of ${userCount} users are left; callers keep ${((100 * busy) / quiet).toFixed(0)} % of their rate`);
console.log(
  (await replica.log())
    .split('\n')
    .filter((line) => line.includes('backlog'))
    .map((line) => line.slice(-160))
    .join('\n'),
);

await replica.terminate();
await admin.close();
await cluster.stop();
await rm(directory, { recursive: true });
process.exit(0);
