/**
 * Measures the cost of more users, in one run on a real control plane: the time from the start of a replica until it lists them, beside the
 * time in which the API server returns them in pages and as a stream (`sendInitialEvents`), both read and not parsed; and pages a second,
 * without changes and while users are renamed.
 *
 * node bench/many-users.ts (after `npm run build`; needs wrk and bubblewrap)
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { ClusterAdmin, eventually } from '../test/support/cluster-admin.ts';
import { load } from './peers/load.ts';
import { cpuSeconds, residentMiB } from './peers/process.ts';
import { median } from './peers/rows.ts';
import { atrium, type Target } from './peers/servers.ts';
import { fillUsers } from './peers/users.ts';

const counts = [10_000, 100_000];
const rounds = 3;
/** Number of renamed users every 100 ms, which is 1,000 a second. */
const changedAtOnce = 100;
const users = '/apis/auth.platform.io/v1/users';

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const plane = await startControlPlane({ people: ['admin'] });
const config = new KubeConfig();
config.loadFromFile(plane.kubeconfig);
const adminToken = config.getCurrentUser()?.token ?? '';
const headers = { Authorization: `Bearer ${adminToken}` };
const admin = new ClusterAdmin(plane, adminToken);
const agent = new Agent({ connect: { ca: plane.certificateAuthority } });
const get = async (query: Record<string, string>) => {
  const url = `${plane.url}${users}?${new URLSearchParams(query)}`;
  const answer = await request(url, { dispatcher: agent, headers });
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
  return answer.body;
};

async function readPages(): Promise<undefined> {
  for (let next = ''; ; ) {
    const text = await (await get({ limit: '500', ...(next && { continue: next }) })).text();
    // The metadata of a list of custom resources is at its end.
    next = /"continue":"([^"]+)"/.exec(text.slice(-2_000))?.[1] ?? '';
    if (next === '') return;
  }
}

async function readStream(): Promise<undefined> {
  const body = await get({ watch: 'true', allowWatchBookmarks: 'true', sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' });
  let end = '';
  for await (const chunk of body) {
    end = (end + String(chunk)).slice(-2_000);
    if (end.includes('k8s.io/initial-events-end')) break;
  }
  body.destroy();
}

let replicas = 0;
/** Starts a replica, and waits until it lists the users: it is ready after 15 s also without them. */
async function startReplica(): Promise<Target> {
  replicas += 1;
  const context = { directory, files: directory, plane, adminToken, serviceToken: await admin.serviceToken(), isDrawn: false };
  const target = await atrium(`replica-${replicas}`, 'dist', context);
  await eventually(
    async () => (await fetch(`${target.url}/auth/v2/users?limit=1`, { headers })).status,
    (status) => status === 200,
    120_000,
  );
  return target;
}

async function measureFirstList(): Promise<void> {
  const work = { 'in pages of 500': readPages, 'as a stream': readStream, 'a replica': startReplica };
  const seconds = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1)
    for (const [name, run] of Object.entries(work)) {
      const apiServer = await cpuSeconds(plane.apiServer.pid ?? 0);
      const begun = performance.now();
      const started = await run();
      const took = (performance.now() - begun) / 1000;
      const its = (await cpuSeconds(plane.apiServer.pid ?? 0)) - apiServer;
      await started?.end();
      seconds.set(name, [...(seconds.get(name) ?? []), took]);
      console.log(`  ${name}: ${took.toFixed(1)} s, CPU of the API server ${its.toFixed(1)} s`);
    }
  const [inPages = 1, asStream = 1, listed = 1] = Object.keys(work).map((name) => median(seconds.get(name) ?? []));
  console.log(`  a replica lists them in ${(listed / inPages).toFixed(2)}x of the pages, ${(listed / asStream).toFixed(2)}x of the stream`);
}

/** Renames users until it is ended. @returns their number */
function renaming(rename: (from: number, to: number, suffix: string) => Promise<void>): { end(): Promise<number> } {
  let isOver = false;
  const run = async () => {
    let turn = 0;
    for (const begun = performance.now(); !isOver; turn += 1) {
      const first = (turn * changedAtOnce) % (Math.min(...counts) - changedAtOnce);
      await rename(first, first + changedAtOnce, `-${turn}`);
      await sleep(Math.max(0, begun + (turn + 1) * 100 - performance.now()));
    }
    return turn * changedAtOnce;
  };
  const running = run();
  return {
    async end() {
      isOver = true;
      return running;
    },
  };
}

try {
  await admin.install();
  let made = 0;
  for (const count of counts) {
    const rename = await fillUsers(admin, plane.etcdURL, made, count - 1);
    made = count - 1;
    console.log(`${count} users`);
    // The cache of the API server lags behind etcd.
    const isRead = () =>
      readPages().then(
        () => true,
        () => false,
      );
    await eventually(isRead, Boolean, 120_000);
    await measureFirstList();
    const replica = await startReplica();
    const path = '/auth/v2/users?limit=20&page=1&filterBy=connector_id,local,username,person&sortBy=d,username';
    const options = { seconds: 10, connections: 32, directory };
    await load(replica.url, { paths: [path], headers }, options);
    const quiet = await load(replica.url, { paths: [path], headers }, options);
    const changes = renaming(rename);
    const cpu = () => Promise.all([replica.pid, plane.apiServer.pid ?? 0].map(cpuSeconds));
    const [before = [], busy, after = []] = [await cpu(), await load(replica.url, { paths: [path], headers }, options), await cpu()];
    const changed = await changes.end();
    const [its = 0, apiServers = 0] = after.map((seconds, index) => seconds - (before[index] ?? 0));
    const { now, most } = await residentMiB(replica.pid);
    console.log(`  pages: ${quiet.perSecond.toFixed(0)}/s, p99 ${quiet.p99.toFixed(1)} ms`);
    console.log(`  pages while ${changed} users were renamed in 10 s: ${busy.perSecond.toFixed(0)}/s, p99 ${busy.p99.toFixed(1)} ms`);
    console.log(`  CPU meanwhile: ${its.toFixed(1)} s, of the API server ${apiServers.toFixed(1)} s`);
    console.log(`  resident ${now.toFixed(0)} MiB, ${most.toFixed(0)} MiB at most`);
    await replica.end();
  }
  console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
} finally {
  await agent.destroy();
  await admin.close();
  await plane.stop();
  await rm(directory, { recursive: true });
}
