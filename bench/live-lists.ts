/**
 * Measures 1,000 open live lists of 10,000 users on a replica (docs/contract/users.md): memory, the time until all of them have a change,
 * and the cost while no user changes. The readers are another process. Run: node --expose-gc bench/live-lists.ts
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { aUser, nameOf } from '../test/service/users/a-user.ts';
import { eventually } from '../test/support/cluster-admin.ts';
import { grant } from '../test/support/grants.ts';
import { startServer } from '../test/support/server.ts';
import { median } from './peers/rows.ts';

const streamCount = 1_000;
const userCount = 10_000;
const changeCount = 100;
const [role, url = '', token = ''] = process.argv.slice(2);

const megabytes = (bytes: number) => Math.round(bytes / 1024 / 1024);
function memory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Opens the streams, and reports when each has received the requested number of events. */
async function read(): Promise<void> {
  const counts = new Array<number>(streamCount).fill(0);
  const opened = Array.from({ length: streamCount }, async (_, index) => {
    const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' };
    const outgoing = request(`${url}/auth/v2/users?watch=true&filterBy=username,changed`, { headers, agent: false }).end();
    const [incoming] = await once(outgoing, 'response');
    if (incoming.statusCode !== 200) throw new Error(`stream ${index}: ${incoming.statusCode}`);
    incoming.setEncoding('utf8');
    incoming.on('data', (text: string) => {
      counts[index] = (counts[index] ?? 0) + (text.match(/^event: (ADDED|MODIFIED)$/gm)?.length ?? 0);
    });
  });
  await Promise.all(opened);
  process.send?.('open');
  process.on('message', async (wanted: number) => {
    while (!counts.every((count) => count >= wanted)) await sleep(5);
    process.send?.('told');
  });
}

async function measure(): Promise<void> {
  const config = { server: { maxInFlight: streamCount + 50 }, kubernetes: { accessCache: '5s' }, log: { level: 'warn' } };
  const server = await startServer({ config });
  await grant(server.kubernetes, 'viewer', 'atrium-users-view');
  const users = Array.from({ length: userCount }, (_, index) => aUser(`user-${index}@example.com`));
  while (users.length > 0) await server.kubernetes.apply(...users.splice(0, 100));
  await eventually(
    async () => (await server.request('/auth/v2/users?limit=1', { as: 'viewer' })).text(),
    (text) => text.includes(`"total":${userCount}`),
    120_000,
  );
  const before = memory();
  const reader = fork(import.meta.filename, ['read', server.url, await server.token('viewer')]);
  const startedAt = performance.now();
  await once(reader, 'message');
  console.log(`${streamCount} streams open after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  console.log(`memory: ${Math.round((memory() - before) / 1024 / streamCount)} KiB a stream, ${megabytes(memory() - before)} MiB in all`);
  const idle = process.cpuUsage();
  await sleep(10_000);
  const { user, system } = process.cpuUsage(idle);
  console.log(`while nothing happens: ${(((user + system) / 10_000_000) * 100).toFixed(1)} % of a core`);
  const times: number[] = [];
  for (let change = 1; change <= changeCount; change += 1) {
    const changedAt = performance.now();
    const body = { spec: { username: `changed ${change}` } };
    const path = `/apis/auth.platform.io/v1/users/${nameOf('user-1@example.com')}`;
    await server.kubernetes.call('PATCH', path, body, { 'content-type': 'application/merge-patch+json' });
    reader.send(change);
    await once(reader, 'message');
    times.push(performance.now() - changedAt);
  }
  console.log(`a change is with all of them after ${median(times).toFixed(0)} ms (median of ${changeCount})`);
  console.log(`memory after that: ${megabytes(memory() - before)} MiB more than without streams`);
  reader.kill();
  await server.stop();
}

await (role === 'read' ? read() : measure());
