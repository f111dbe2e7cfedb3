/**
 * Measures the time until 1,000 UserBindings have their RBAC objects, the delay of a change, and the cost for the replica that creates
 * them. The service is a process of its own, whose memory is reported.
 *
 * node bench/user-bindings.ts [--bindings 1000] [--namespaces 20] [--members 20]        on the embedded cluster, in this process
 * TEST_CLUSTER=real node bench/user-bindings.ts                                         on kube-apiserver
 *
 * A fifth binds on the whole platform, a fifth in one namespace, the others in one of four projects; all name one local group.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { Replica } from '../test/cluster/replicas/replica.ts';
import { aBinding, aGroup, aNamespace, bindingsPath, rbac, type UserBinding } from '../test/service/bindings/support.ts';
import { aUser, nameOf } from '../test/service/users/a-user.ts';
import { apiServer } from '../test/support/api-server.ts';
import { ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../test/support/cluster-admin.ts';

const { values } = parseArgs({
  options: {
    bindings: { type: 'string', default: '1000' },
    namespaces: { type: 'string', default: '20' },
    members: { type: 'string', default: '20' },
  },
});
const [bindingCount, namespaceCount, memberCount] = [values.bindings, values.namespaces, values.members].map(Number) as [
  number,
  number,
  number,
];
const projects = 4;
const patience = 1_800_000;

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const cluster = await apiServer();
const admin = new ClusterAdmin(cluster, await cluster.token('admin'));
await admin.install();
/** Repeats a request whose connection the busy cluster has just closed. */
async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = 20; ; left -= 1) {
    try {
      return await ask();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}
const apply = async (objects: Manifest[]) => {
  while (objects.length > 0)
    await Promise.all(
      [0, 1, 2, 3].map(() => {
        const some = objects.splice(0, 25);
        return again(() => admin.apply(...some));
      }),
    );
};
const member = (index: number) => `m${index}@example.com`;
const nameOfNamespace = (index: number) => `team-${index}`;
const placeOf = (index: number): Record<string, unknown> => {
  if (index % 5 === 0) return { scope: 'platform' };
  if (index % 5 === 1) return { scope: 'namespace', constraint: [{ namespace: nameOfNamespace(index % namespaceCount) }] };
  return { scope: 'project', constraint: [{ project: `p${index % projects}` }] };
};
await apply(Array.from({ length: memberCount + 1 }, (_, index) => aUser(member(index))));
await apply([
  aGroup(
    'crew',
    Array.from({ length: memberCount }, (_, index) => nameOf(member(index))),
  ),
]);
await apply(Array.from({ length: namespaceCount }, (_, index) => aNamespace(nameOfNamespace(index), `p${index % projects}`)));

const kubeconfig = {
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
};
const kubeconfigFile = join(directory, 'kubeconfig');
await writeFile(kubeconfigFile, JSON.stringify(kubeconfig));
const configFile = join(directory, 'config.yaml');
await writeFile(
  configFile,
  stringify({
    server: { host: '127.0.0.1', port: 0, metricsPort: 0 },
    kubernetes: { kubeconfig: kubeconfigFile, namespace: serviceNamespace },
    console: { static: { directory: new URL('../web/dist', import.meta.url).pathname } },
  }),
);
const replicas: Replica[] = [];
// The replicas end with this program, however it ends.
process.on('exit', () => {
  for (const replica of replicas) replica.abandon();
});
const startReplica = async (name: string) => {
  const replica = await again(() => Replica.start(name, { program, configFile }));
  replicas.push(replica);
  return replica;
};
const program = new URL('../src/main.ts', import.meta.url).pathname;

const list = async (path: string) => ((await again(() => admin.call('GET', path))).body as { items: unknown[] }).items;
const synced = async () => (await list(bindingsPath)).filter((one) => (one as UserBinding).status?.phase === 'Synced').length;
const label = `labelSelector=${encodeURIComponent('auth.platform.io/userbinding')}`;
const made = async () =>
  (await Promise.all(['clusterrolebindings', 'rolebindings'].map((plural) => list(`/apis/${rbac}/v1/${plural}?${label}`)))).flat();
const seconds = (begun: number) => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
const say = (text: string) => process.stdout.write(`${text}\n`);

const idle = await startReplica('idle');
await idle.whenReady();
await new Promise((resolve) => setTimeout(resolve, 3_000));
say(`at rest, with no UserBinding: ${await idle.residentMiB()} MiB resident`);
await idle.terminate();

await apply(
  Array.from({ length: bindingCount }, (_, index) =>
    aBinding(`ub-${index}`, { subjects: [{ kind: 'Group', name: 'crew' }], ...placeOf(index) }),
  ),
);

let begun = performance.now();
const replica = await startReplica('worker');
let most = 0;
const watching = setInterval(async () => {
  most = Math.max(most, await replica.residentMiB().catch(() => 0));
}, 200);
await eventually(synced, (count) => count === bindingCount, patience);
const count = (await made()).length;
say(`${bindingCount} UserBindings are ${count} bindings of ${memberCount + 1} subjects: ${seconds(begun)}; ${most} MiB resident at most`);

begun = performance.now();
await admin.call(
  'PATCH',
  `/apis/auth.platform.io/v1/groups/crew`,
  { spec: { users: Array.from({ length: memberCount + 1 }, (_, index) => ({ name: nameOf(member(index)) })) } },
  { 'content-type': 'application/merge-patch+json' },
);
await eventually(made, (all) => all.every((one) => (one as { subjects: unknown[] }).subjects.length === memberCount + 2), patience);
say(`a member who comes is in all of them: ${seconds(begun)}; ${most} MiB resident at most`);

begun = performance.now();
const [first] = (await list(`/apis/${rbac}/v1/rolebindings?${label}`)) as { metadata: { name: string; namespace: string } }[];
await admin.remove(`/apis/${rbac}/v1/namespaces/${first?.metadata.namespace}/rolebindings/${first?.metadata.name}`);
await eventually(made, (all) => all.length === count, patience);
say(`one that is deleted is there again: ${seconds(begun)}`);

const second = await startReplica('second');
await second.whenReady();
begun = performance.now();
await replica.terminate();
clearInterval(watching);
await admin.call('DELETE', `${bindingsPath}/ub-0`);
await eventually(
  async () => (await admin.call('GET', `${bindingsPath}/ub-0`)).status,
  (status) => status === 404,
  patience,
);
say(
  `the holder stops, and the other replica has looked at all and removes one: ${seconds(begun)}; ${await second.residentMiB()} MiB resident`,
);

await second.terminate();
await admin.close();
await cluster.stop();
await rm(directory, { recursive: true });
process.exit(0);
