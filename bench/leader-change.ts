/**
 * Measures a change of leader for a replica that watches 100,000 users (LIM-12): the longest pause of its event loop until it has examined
 * all of them, its cost while no user changes, and its cost in a second in which 1,000 of them expire. The cluster is another process.
 *
 * node bench/leader-change.ts [--users 100000] [--idle 60] [--expire 1000]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { App } from '../src/app.ts';
import { parseConfig } from '../src/config/load.ts';
import { userLabels } from '../src/users/record/labels.ts';
import { nameOf } from '../test/service/users/a-user.ts';
import { ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../test/support/cluster-admin.ts';

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '100000' },
    idle: { type: 'string', default: '60' },
    expire: { type: 'string', default: '1000' },
    cluster: { type: 'boolean' },
  },
});
const userCount = Number(values.users);
const idleSeconds = Number(values.idle);
const expiringCount = Math.min(Number(values.expire), userCount);
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases`;
const users = '/apis/auth.platform.io/v1/users';
const timestamp = (date: Date) => date.toISOString().replace(/\.\d+Z$/, 'Z');

/** Returns a user without pending writes, whose phase changes after a long time without a login. */
function settledUser(index: number, now: Date): Manifest {
  const email = `person-${index}@example.com`;
  const since = timestamp(new Date(now.getTime() - (index % 86_400) * 1000));
  const spec = {
    email,
    username: `Person ${index}`,
    connector_type: 'local',
    connector_id: 'local',
    connector_name: 'Local',
    is_admin: false,
  };
  const isSo = ['Ready', 'Enabled', 'Unlocked', 'SourceFound', 'PasswordSet', 'Canonical'];
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'User',
    metadata: { name: nameOf(email), labels: userLabels(spec) },
    spec,
    status: {
      phase: 'Normal',
      observedGeneration: 1,
      subjectName: email,
      groups: ['team', `team-${index % 100}`],
      activatedTime: since,
      lastLoginTime: since,
      passwordChangedTime: since,
      conditions: isSo.map((type) => ({ type, status: 'True', reason: 'AsExpected', message: '', lastTransitionTime: since })),
    },
  };
}

/** Runs the cluster, in the other process. */
async function runCluster(): Promise<void> {
  const cluster = await Cluster.start();
  const token = await cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
  process.send?.({ url: cluster.url, certificateAuthority: cluster.certificateAuthority, token });
  process.on('message', async () => {
    const now = new Date();
    for (let index = 0; index < userCount; index += 1) await cluster.apply(settledUser(index, now));
    process.send?.('full');
  });
}

const tickMs = 5;
const delays = monitorEventLoopDelay({ resolution: tickMs });
delays.enable();

/** Measures the maximum CPU time of this thread between two ticks of a timer, which other programs of the machine do not change. */
class Busiest {
  longestMs = 0;
  #last = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#tick(), tickMs);

  end(): number {
    clearInterval(this.#timer);
    return this.longestMs;
  }

  #tick(): void {
    const { user, system } = process.threadCpuUsage(this.#last);
    this.#last = process.threadCpuUsage();
    this.longestMs = Math.max(this.longestMs, (user + system) / 1000);
  }
}

/** Measures the cost of the time until `end`. */
class Period {
  readonly #cpu = process.cpuUsage();
  readonly #begun = performance.now();
  readonly #busiest = new Busiest();

  constructor() {
    delays.reset();
  }

  end() {
    const { user, system } = process.cpuUsage(this.#cpu);
    const seconds = (performance.now() - this.#begun) / 1000;
    return { seconds, cpuMs: (user + system) / 1000, longestMs: delays.max / 1e6, busiestMs: this.#busiest.end() };
  }
}

const say = (what: string, { seconds, cpuMs, longestMs, busiestMs }: ReturnType<Period['end']>) =>
  console.log(
    [
      what.padEnd(36),
      `${seconds.toFixed(1).padStart(6)} s`,
      `CPU ${cpuMs.toFixed(0).padStart(6)} ms`,
      `longest pause ${longestMs.toFixed(0).padStart(5)} ms, of the thread's CPU ${busiestMs.toFixed(0).padStart(5)} ms`,
    ].join('   '),
  );

/** Waits until the process has been almost idle for three seconds. */
async function untilQuiet(): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    const before = process.cpuUsage();
    await sleep(1_000);
    const { user, system } = process.cpuUsage(before);
    quiet = user + system < 150_000 ? quiet + 1 : 0;
  }
}

async function measure(): Promise<void> {
  const child = fork(import.meta.filename, ['--cluster', '--users', values.users]);
  preferThisProcess();
  const [{ url, certificateAuthority, token }] = await once(child, 'message');
  const admin = new ClusterAdmin({ url, certificateAuthority }, token);
  await admin.install();
  child.send('fill');
  await once(child, 'message');
  const serviceToken = await admin.serviceToken();
  const holder = new LeaseHolder(admin);
  await holder.hold();
  const logLines: string[] = [];
  const app = new App({
    config: parseConfig({ yaml: JSON.stringify({ ...baseline, kubernetes: { namespace: serviceNamespace } }) }),
    connection: {
      server: url,
      tls: { ca: certificateAuthority },
      namespace: serviceNamespace,
      authorization: async () => `Bearer ${serviceToken}`,
      discardAuthorization() {},
    },
    environment: {},
    log: createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) }),
  });
  let period = new Period();
  const { metricsPort } = await app.start();
  const metric = async (pattern: RegExp) => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(pattern.exec(text)?.[1] ?? 0);
  };
  await eventually(
    () => metric(/^atrium_watch_objects\{watch="users"\} (\d+)/m),
    (count) => count === userCount,
    300_000,
  );
  say(`${userCount} users are listed`, period.end());
  await untilQuiet();
  period = new Period();
  await sleep(10_000);
  say('idle, another replica leads', period.end());

  period = new Period();
  await holder.release();
  await eventually(async () => logLines.some((line) => /atrium-user-states.*elected leader/.test(line)), Boolean, 60_000);
  await untilQuiet();
  say('change of leader, to quiet', period.end());
  period = new Period();
  await sleep(idleSeconds * 1000);
  say('idle, this replica leads', period.end());
  const writes = () => metric(/^atrium_kubernetes_request_duration_seconds_count\{call="patch users\/status"[^}]*\} (\d+)/m);
  console.log(`writes of a status until here: ${await writes()}`);

  if (expiringCount > 0) await expire(admin, writes);

  await app.stop();
  await admin.close();
  child.kill();
}

/** Lets users expire in the same second, and measures the cost. */
async function expire(admin: ClusterAdmin, writes: () => Promise<number>): Promise<void> {
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000 + 90_000);
  const paths = Array.from({ length: expiringCount }, (_, index) => `${users}/${nameOf(`person-${index}@example.com`)}`);
  const patchEach = async () => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop())
      await admin.call('PATCH', path, { spec: { expired: { end: timestamp(end) } } }, mergePatch);
  };
  await Promise.all([patchEach(), patchEach(), patchEach(), patchEach()]);
  await untilQuiet();
  const before = await writes();
  const leftMs = end.getTime() - Date.now();
  if (leftMs < 0) throw new Error('the users expired before all was ready');
  await sleep(leftMs);
  const period = new Period();
  for (const deadline = Date.now() + 120_000; (await writes()) - before < expiringCount && Date.now() < deadline; ) await sleep(250);
  say(`${expiringCount} users expire in one second`, period.end());
}

/** Raises the priority of this process, which needs the superuser: other programs of the machine distort the measurement. */
function preferThisProcess(): void {
  try {
    setPriority(-15);
  } catch {
    console.log('other programs of this machine are measured, too');
  }
}

const mergePatch = { 'content-type': 'application/merge-patch+json' };

const baseline = {
  server: { host: '127.0.0.1', port: 0, metricsPort: 0 },
  console: { static: { directory: 'web/dist' } },
  log: { level: 'info' },
};

/** Another replica, which holds the Lease. */
class LeaseHolder {
  readonly #admin: ClusterAdmin;
  #timer: NodeJS.Timeout | undefined;

  constructor(admin: ClusterAdmin) {
    this.#admin = admin;
  }

  async hold(): Promise<void> {
    await this.#admin.apply({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'atrium-user-states', namespace: serviceNamespace },
      spec: { holderIdentity: 'another', leaseDurationSeconds: 15 },
    });
    this.#timer = setInterval(() => void this.#renew('another'), 5_000);
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renew('');
  }

  async #renew(holderIdentity: string): Promise<void> {
    const spec = { holderIdentity, renewTime: new Date().toISOString().replace('Z', '000Z') };
    await this.#admin.call('PATCH', `${leasePath}/atrium-user-states`, { spec }, mergePatch);
  }
}

await (values.cluster ? runCluster() : measure());
