/**
 * How long a replica takes from its start until it lists many users, beside what the API server needs to give them: in pages, as the replica asks
 * for them, and as a stream (`sendInitialEvents`). Bodies are read, and not parsed. All in one run, in turn, on a real control plane.
 *
 * node bench/first-list.ts [users] (after `npm run build`; needs bubblewrap)
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { ClusterAdmin, eventually } from '../test/support/cluster-admin.ts';
import { cpuSeconds } from './peers/process.ts';
import { atrium } from './peers/servers.ts';
import { fillUsers } from './peers/users.ts';

const userCount = Number(process.argv[2] ?? 100_000);
const rounds = 3;
const users = '/apis/auth.platform.io/v1/users';

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const plane = await startControlPlane({ people: ['admin'] });
const config = new KubeConfig();
config.loadFromFile(plane.kubeconfig);
const adminToken = config.getCurrentUser()?.token ?? '';
const admin = new ClusterAdmin(plane, adminToken);
const agent = new Agent({ connect: { ca: plane.certificateAuthority } });
const get = async (query: Record<string, string>) => {
  const url = `${plane.url}${users}?${new URLSearchParams(query)}`;
  const answer = await request(url, { dispatcher: agent, headers: { Authorization: `Bearer ${adminToken}` } });
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
  return answer.body;
};

async function pages(): Promise<undefined> {
  for (let next = ''; ; ) {
    const text = await (await get({ limit: '500', ...(next && { continue: next }) })).text();
    // The metadata of a list of custom resources stands at its end.
    next = /"continue":"([^"]+)"/.exec(text.slice(-2_000))?.[1] ?? '';
    if (next === '') return;
  }
}

async function stream(): Promise<undefined> {
  const query = { watch: 'true', allowWatchBookmarks: 'true', sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  const body = await get(query);
  let end = '';
  for await (const chunk of body) {
    end = (end + String(chunk)).slice(-2_000);
    if (end.includes('k8s.io/initial-events-end')) break;
  }
  body.destroy();
}

const surroundings = { directory, files: directory, plane, adminToken, isDrawn: false };
let replicas = 0;
async function replica(): Promise<() => Promise<void>> {
  replicas += 1;
  const serviceToken = await admin.serviceToken();
  const { url, end } = await atrium(`replica-${replicas}`, 'dist', { ...surroundings, serviceToken });
  // It is ready after 15 s also without the list.
  const list = () => fetch(`${url}/auth/v2/users?limit=1`, { headers: { Authorization: `Bearer ${adminToken}` } });
  while ((await list()).status !== 200) await sleep(20);
  return end;
}

const median = (values: readonly number[]) => values.toSorted((left, right) => left - right)[values.length >> 1] ?? Number.NaN;

try {
  await admin.install();
  await fillUsers(admin, plane.etcdURL, 0, userCount - 1);
  // The cache of the API server follows etcd.
  await eventually(
    () =>
      pages().then(
        () => true,
        () => false,
      ),
    Boolean,
    120_000,
  );
  const work = { 'the API server in pages of 500': pages, 'the API server as a stream': stream, 'a replica until it lists them': replica };
  const seconds = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1)
    for (const [name, run] of Object.entries(work)) {
      const apiServer = await cpuSeconds(plane.apiServer.pid ?? 0);
      const begun = performance.now();
      const end = await run();
      const took = (performance.now() - begun) / 1000;
      const its = (await cpuSeconds(plane.apiServer.pid ?? 0)) - apiServer;
      await end?.();
      seconds.set(name, [...(seconds.get(name) ?? []), took]);
      console.log(`${name}: ${took.toFixed(1)} s, CPU of the API server ${its.toFixed(1)} s`);
    }
  const [inPages = 1, asStream = 1, ready = 1] = Object.keys(work).map((name) => median(seconds.get(name) ?? []));
  console.log(
    `${userCount} users: listed in ${(ready / inPages).toFixed(2)}x of the pages, ${(ready / asStream).toFixed(2)}x of the stream`,
  );
  console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
} finally {
  await agent.destroy();
  await admin.close();
  await plane.stop();
  await rm(directory, { recursive: true });
}
