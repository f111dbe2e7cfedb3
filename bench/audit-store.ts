/**
 * Measures the audit store in SQLite and in PostgreSQL: events taken in per second, bytes of an event on disk, and the 95th percentile of
 * the newest 50 events for each pair of filters, also as a ratio to the newest 50 of all events in the same run. Bars: 5,000 events/s, 600
 * bytes, 50 ms; 300 ms for a word. The processor time of the longest turn of the event loop while events are taken in is printed, too:
 * less than 20 ms for PostgreSQL, whose store has no thread of its own. Other work on the machine does not change it. Measuring turns takes
 * a quarter of the time, so that they are measured in the last tenth of the events, and the rate in the others. Each time of a question has
 * the processor time of this process beside it, which includes SQLite and excludes PostgreSQL.
 *
 * The third number is that of the events that are appended: the database copies them for the others, whose chain is wrong. A store that
 * opens makes their index.
 *
 * node bench/audit-store.ts [events] [sqlite|postgres] [appended]
 */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { PostgresStore } from '@atrium/audit-store/postgres-store.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import type { AuditFilter, AuditStore } from '@atrium/audit-store/store.ts';
import { Postgres } from '../test/tools/postgres/postgres.ts';
import { Turns } from './turns.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const appended = Number(process.argv[4] ?? count);
const databases = process.argv[3] === undefined ? ['sqlite', 'postgres'] : [process.argv[3]];
const batchSize = 500;
/** Values that are tried for each pair of filters: a 95th percentile of ten would be the slowest. */
const draws = 40;
const begin = Date.UTC(2026, 0, 1);

/** Small numbers are frequent, as are a few users and namespaces in a cluster. */
const skewed = (bound: number) => Math.floor(bound ** Math.random()) - 1;
const pick = (values: readonly string[]) => values[skewed(values.length + 1)] ?? '';
const verbs = ['patch', 'update', 'create', 'delete', 'get', 'list', 'connect', 'deletecollection'];
const kinds = [
  'apps/deployments',
  '/pods',
  '/secrets',
  '/configmaps',
  'apps/statefulsets',
  'batch/jobs',
  'rbac.authorization.k8s.io/roles',
];
const users = Array.from({ length: 2_000 }, (_, index) => `user-${index}@example.com`);
const namespaces = Array.from({ length: 200 }, (_, index) => `team-${index}`);

function anEvent(index: number): AuditEvent {
  const [apiGroup = '', resource = ''] = pick(kinds).split('/');
  const user = pick(users);
  // Half of the users never meet half of the namespaces: pairs of frequent values without a common event are the worst question.
  const namespace = `${pick(namespaces)}${users.indexOf(user) % 2}`;
  return {
    auditID: randomUUID(),
    cluster: 'local',
    source: 'door',
    verb: pick(verbs),
    user: { username: user, uid: `0d5f7c1e-${user}` },
    sourceIPs: ['192.0.2.1'],
    userAgent: 'kubectl/v1.36.0 (linux/amd64) kubernetes/3a4c5b7',
    objectRef: { apiGroup, resource, namespace, name: `app-${skewed(50_000)}` },
    requestReceivedTimestamp: new Date(begin + index * 86).toISOString(),
    milliseconds: 12,
    outcome: Math.random() < 0.03 ? 'failure' : 'success',
    responseStatus: { code: 200 },
    requestID: randomUUID(),
    session: `session-${user}-${Math.floor(index / 100_000)}`,
  };
}

const median = (values: number[], part: number) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;

/** Milliseconds by the clock and of the processors. */
interface Duration {
  clock: number;
  processor: number;
}

async function timed(work: () => Promise<unknown>): Promise<Duration> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { clock: performance.now() - start, processor: (user + system) / 1000 };
}

/** Returns a part of the sorted durations, each kind for itself. */
const quantile = (durations: readonly Duration[], part: number): Duration => ({
  clock: median(
    durations.map(({ clock }) => clock),
    part,
  ),
  processor: median(
    durations.map(({ processor }) => processor),
    part,
  ),
});

const printed = ({ clock, processor }: Duration) =>
  `${clock.toFixed(1).padStart(9)} ms ${processor.toFixed(1).padStart(9)} ms of processors`;

const filtersOf = ({ cluster, user, verb, objectRef, session, requestID, requestReceivedTimestamp, outcome }: AuditEvent): AuditFilter => ({
  cluster,
  actor: user?.username,
  verb,
  apiGroup: objectRef.apiGroup,
  resource: objectRef.resource,
  namespace: objectRef.namespace,
  name: objectRef.name,
  session,
  requestID,
  outcome,
  from: Date.parse(requestReceivedTimestamp),
  to: Date.parse(requestReceivedTimestamp),
});

const sample: AuditEvent[] = [];

/** Appends events, and measures that. */
async function fill(store: AuditStore): Promise<void> {
  const turns = new Turns();
  const append = async (from: number) => {
    const events = Array.from({ length: batchSize }, (_, index) => anEvent(from + index));
    if (events[0] !== undefined) sample.push(events[0]);
    // The events of the benchmark are made in the same thread.
    await nextTurn();
    return await timed(() => store.append(events));
  };
  const rated = Math.floor((appended * 0.9) / batchSize) * batchSize;
  let ratedMs = 0;
  for (let from = 0; from < rated; from += batchSize) ratedMs += (await append(from)).clock;
  console.log(`taken in: ${Math.round(rated / (ratedMs / 1000))} events/s`);
  for (let from = rated; from < appended; from += batchSize) {
    turns.begin();
    await append(from);
    turns.end();
  }
  console.log(`longest turn: ${turns.longestMs.toFixed(1)} ms`);
}

/** Asks questions, and measures them. */
async function ask(store: AuditStore): Promise<void> {
  const plain: Duration[] = [];
  for (let turn = 0; turn < 50; turn += 1) plain.push(await timed(() => store.list({}, { limit: 50 })));
  const base = quantile(plain, 0.5);
  console.log(`newest 50 of all: median ${printed(base)}`);
  for (const text of ['app', 'team 17 patch', 'app-49000', 'neverheard', 'user-7 app-77']) {
    const times: Duration[] = [];
    for (let draw = 0; draw < draws; draw += 1) times.push(await timed(() => store.list({ text }, { limit: 50 })));
    console.log(`text ${text}: p95 ${printed(quantile(times, 0.95))}`);
  }
  const any = () => filtersOf(sample[Math.floor(Math.random() * sample.length)] ?? anEvent(0));
  const names = Object.keys(any()) as (keyof AuditFilter)[];
  const slow: { pair: string; p95: Duration }[] = [];
  for (const [index, one] of names.entries())
    for (const other of names.slice(index + 1)) {
      const times: Duration[] = [];
      for (let draw = 0; draw < draws; draw += 1) {
        const filter = { [one]: any()[one], [other]: any()[other] };
        times.push(await timed(() => store.list(filter, { limit: 50 })));
      }
      slow.push({ pair: `${one} and ${other}`, p95: quantile(times, 0.95) });
    }
  const slowest = slow.toSorted((one, other) => other.p95.processor - one.p95.processor).slice(0, 20);
  const rows = slowest.map(({ pair, p95 }) => `${printed(p95)}  ${(p95.clock / base.clock).toFixed(1).padStart(8)}x  ${pair}`);
  console.log(`p95 of the slowest pairs of ${slow.length}, load ${loadavg()[0]?.toFixed(1)}:\n${rows.join('\n')}`);
}

/** Copies the appended events until there are all, with ids of their own and later times. @param newID expression of a random text */
async function copyEvents(execute: (statement: string) => unknown, newID: string): Promise<void> {
  const own = [
    'cluster',
    'actor',
    'verb',
    'api_group',
    'resource',
    'namespace',
    'name',
    'source',
    'event',
    'requester',
    'outcome',
    'session',
  ];
  for (let from = appended; from < count; from += appended)
    await execute(
      `insert into events (sequence, id, time, ${own.join(', ')}, request_id, rest, hash)
       select sequence + ${from}, ${newID}, time + ${from * 86}, ${own.join(', ')}, ${newID}, rest, hash
       from events where sequence <= ${Math.min(appended, count - from)} order by sequence`,
    );
}

const runs: Record<string, () => Promise<void>> = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'atrium-audit-bench-'));
    const file = join(folder, 'audit.db');
    const filled = await SqliteStore.open(file);
    await fill(filled);
    await filled.stop();
    const database = new DatabaseSync(file);
    await copyEvents((statement) => database.exec(statement), 'lower(hex(randomblob(16)))');
    database.close();
    const store = await SqliteStore.open(file);
    while ((await store.indexing()).left > 0) await sleep(1_000);
    await ask(store);
    await store.stop();
    console.log(`on disk: ${Math.round((await stat(file)).size / count)} bytes an event`);
    await rm(folder, { recursive: true });
  },
  async postgres() {
    const postgres = await Postgres.start({ waitsForDisk: true });
    const connectionString = await postgres.database();
    const filled = await PostgresStore.open({ connectionString }, console.error);
    const empty = await postgres.bytesOf('test1');
    await fill(filled);
    await filled.stop();
    await copyEvents((statement) => postgres.execute('test1', statement), 'gen_random_uuid()::text');
    const store = await PostgresStore.open({ connectionString }, console.error);
    while ((await store.indexing()).left > 0) await sleep(1_000);
    await ask(store);
    await store.stop();
    console.log(`on disk: ${Math.round(((await postgres.bytesOf('test1')) - empty) / count)} bytes an event`);
    await postgres.stop();
  },
};

for (const name of databases) {
  console.log(`\n${name}: ${count} events, ${availableParallelism()} processors, load ${loadavg()[0]?.toFixed(1)}`);
  await runs[name]?.();
}
