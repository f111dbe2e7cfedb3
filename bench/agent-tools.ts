/**
 * Measures the tools `list` and `search` of agents (docs/agents.md) beside the operations that they stand for, in turns and in one run:
 * median and 95th percentile of the milliseconds until the end of an answer, and their ratio. Bar: 1.2 for the 95th percentile. A stub takes
 * the place of the tokens of agents.
 *
 * node bench/agent-tools.ts [calls]
 */

import { availableParallelism, loadavg } from 'node:os';
import { aBinding, aNamespace, aRole, podRule } from '../test/service/access/objects.ts';
import { startDoor } from '../test/service/mcp/support.ts';
import { eventually, serviceNamespace } from '../test/support/cluster-admin.ts';

const calls = Number(process.argv[2] ?? 600);
const podCount = 300;
const warmUp = 100;
/** Calls in a minute that a user has with all agents. */
const callsPerUser = 200;

const users = Array.from({ length: Math.ceil((2 * (calls + warmUp)) / callsPerUser) + 1 }, (_, index) => `user-${index}`);
const door = await startDoor(Object.fromEntries(['alice', ...users].map((name) => [name, {}])), {
  hasWorkloads: true,
  // Reviews are kept for both sides.
  config: { kubernetes: { accessCache: '60s' }, lists: { resources: [{ version: 'v1', resource: 'pods' }] } },
  objects: [
    aNamespace('shop'),
    aRole('pods', [podRule(['get', 'list', 'watch'])]),
    aBinding('pods', { role: 'pods', to: `ServiceAccount:${serviceNamespace}/atrium` }),
    ...['alice', ...users].map((name) => aBinding(`pods-${name}`, { role: 'pods', to: `User:${name}` })),
    ...Array.from({ length: podCount }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `cart-${index}`, namespace: 'shop', labels: { app: 'cart' } },
      spec: { containers: [{ name: 'cart', image: 'registry.example.com/cart:1' }] },
    })),
  ],
});

let asked = 0;
/** Calls a tool as one user after the other, so that none reaches the bound of calls. */
async function tool(name: string, input: object): Promise<void> {
  const user = users[Math.floor(asked / callsPerUser)] ?? '';
  asked += 1;
  const response = await door.post(user, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } });
  const text = await response.text();
  if (response.status !== 200 || text.includes('"isError":true')) throw new Error(`${name}: ${response.status} ${text.slice(0, 300)}`);
}

async function plain(path: string): Promise<void> {
  // Tools are not compressed.
  const response = await door.request(path, { as: 'alice', headers: { 'accept-encoding': 'identity' } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
}

const pairs = {
  list: { tool: () => tool('list', { resource: 'pods', limit: 50 }), plain: () => plain('/api/v2/resources/core/v1/pods?limit=50') },
  search: { tool: () => tool('search', { text: 'cart-1' }), plain: () => plain('/api/v2/search?q=cart-1') },
};

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const part = (times: readonly number[], share: number) =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? Number.NaN;

try {
  await eventually(
    () => door.request('/api/v2/resources/core/v1/pods?limit=1', { as: 'alice' }).then((response) => response.text()),
    (text) => text.includes(`"total":${podCount}`),
  );
  console.log(`${calls} calls of each, ${availableParallelism()} processors, load ${loadavg()[0]?.toFixed(1)}`);
  for (const [name, pair] of Object.entries(pairs)) {
    const times: Record<'tool' | 'plain', number[]> = { tool: [], plain: [] };
    for (let turn = 0; turn < calls + warmUp; turn += 1)
      for (const kind of turn % 2 === 0 ? (['tool', 'plain'] as const) : (['plain', 'tool'] as const)) {
        const ms = await timed(pair[kind]);
        if (turn >= warmUp) times[kind].push(ms);
      }
    const shown = [0.5, 0.95].map((share) => {
      const [ofTool, ofPlain] = [part(times.tool, share), part(times.plain, share)];
      return `p${share * 100} ${ofPlain.toFixed(1)} to ${ofTool.toFixed(1)} ms (${(ofTool / ofPlain).toFixed(2)}x)`;
    });
    console.log(`${name}: ${shown.join(', ')}`);
  }
} finally {
  await door.stop();
}
