/**
 * Compares the times of 20 clients that behave with those of a quiet service, while others fill what is slow. Prints the ratio of the 95th
 * percentiles for each. Run: node bench/fairness.ts
 */
import { delay, type ProxiedRequest } from '../test/cluster/faults/fault-proxy.ts';
import type { Person } from '../test/support/api-server.ts';
import { eventually } from '../test/support/cluster-admin.ts';
import { startFaultyServer } from '../test/support/faulty-server.ts';
import { grant } from '../test/support/grants.ts';

const clients = 20;
const requestsOfClient = 20;
const users = '/auth/v2/users';
const nodes = '/api/kubernetes/api/v1/nodes';
const networks = ['203.0.113.1', '203.0.113.2', '203.0.113.3'];

const server = await startFaultyServer({
  config: { server: { trustedProxies: ['127.0.0.1'] }, kubernetes: { accessCache: '1h' }, log: { level: 'error' } },
});
const people: Person[] = ['alice', 'bob'];
const tokens: string[] = [];
for (const person of people) {
  await grant(server.kubernetes, person, 'atrium-users-view');
  const token = await server.token(person);
  tokens.push(token);
  await eventually(
    async () => (await server.request(users, { token })).status,
    (status) => status === 200,
  );
}
const viewer = await server.token('viewer');

/** Returns the 95th percentile in milliseconds, and the number of refusals. */
async function behave(): Promise<{ p95: number; refused: number }> {
  const times: number[] = [];
  let refused = 0;
  const work = async (client: number) => {
    for (let index = 0; index < requestsOfClient; index += 1) {
      const begun = performance.now();
      const path = ['/', users, nodes][index % 3] ?? '';
      const headers = { 'X-Forwarded-For': client % 2 === 0 ? (networks[0] ?? '') : `198.51.100.${client}` };
      const response = await server.request(path, { token: tokens[client % 2] ?? '', headers });
      await response.arrayBuffer();
      if (response.status === 429 || response.status >= 500) refused += 1;
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
  return { p95: times.sort((left, right) => left - right)[Math.floor(times.length * 0.95)] ?? 0, refused };
}

interface Fill {
  /** Requests at the API server that are slow. */
  slow: (request: ProxiedRequest) => boolean;
  send: (index: number) => Promise<Response>;
}

const isOf = (pattern: RegExp) => (request: ProxiedRequest) => pattern.test(String(request.headers.authorization));
const unknown = (address: string | undefined, index: number) =>
  server.request(users, { token: `unknown-${index}-${Math.random()}`, headers: { 'X-Forwarded-For': address ?? '' } });
const fills: Record<string, Fill> = {
  'one address, unknown bearers': { slow: isOf(/unknown-/), send: (index) => unknown(networks[0], index) },
  'three networks, unknown bearers': { slow: isOf(/unknown-/), send: (index) => unknown(networks[index % 3], index) },
  'one person, the Kubernetes API': {
    slow: (request) => request.headers.authorization === `Bearer ${viewer}`,
    send: () => server.request(nodes, { token: viewer }),
  },
  'one person, a future version': {
    slow: () => false,
    send: () => server.request(`${users}?resourceVersion=99999999999999999999`, { token: viewer }),
  },
};

await behave();
for (const ms of [2_000, 15_000])
  for (const [name, { slow, send }] of Object.entries(fills)) {
    const quiet = await behave();
    server.faults.inject(delay(ms), slow);
    let isOver = false;
    let answered429 = 0;
    const fill = Array.from({ length: 600 }, async (_, worker) => {
      for (let index = worker; !isOver; index += 600) {
        const response = await send(index);
        await response.arrayBuffer();
        if (response.status !== 429) continue;
        answered429 += 1;
        // Retry-After is a second.
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    });
    await eventually(
      () => answered429,
      (count) => count > 0,
    );
    const filled = await behave();
    isOver = true;
    server.faults.mend();
    await Promise.all(fill);
    console.info(
      `${ms / 1000} s, ${name}: p95 quiet ${quiet.p95.toFixed(0)} ms, filled ${filled.p95.toFixed(0)} ms, ratio ${(filled.p95 / quiet.p95).toFixed(1)}; refused: behaving ${filled.refused}, others ${answered429}`,
    );
  }
await server.stop();
