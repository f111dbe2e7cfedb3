import { type Loaded, type LoadOptions, load, type Request } from './load.ts';
import { cpuSeconds, longestHoldMs } from './process.ts';
import type { Target } from './servers.ts';

/** A server with the request that it answers in a row. */
export interface Contender {
  name: string;
  target: Target;
  request: Request;
}

/** The same work of several servers; the others are compared with the first one. */
export interface Row {
  name: string;
  work: string;
  contenders: readonly Contender[];
}

interface Measure extends Loaded {
  /** Microseconds of CPU for a request, of the server's process. */
  cpu: number;
  /** Maximum milliseconds for which the event loop was blocked; for the service only. */
  heldMs?: number;
}

/** Measures of each contender of each row, round by round. */
export type Results = Map<Contender, Measure[]>;

async function measure({ target, request }: Contender, options: LoadOptions): Promise<Measure> {
  const { pid, url, metricsURL } = target;
  if (metricsURL !== undefined) await longestHoldMs(metricsURL);
  const before = await cpuSeconds(pid);
  const loaded = await load(url, request, options);
  const cpu = ((await cpuSeconds(pid)) - before) * (1e6 / loaded.requests);
  return { ...loaded, cpu, ...(metricsURL !== undefined && { heldMs: await longestHoldMs(metricsURL) }) };
}

/**
 * Measures all contenders of a row one after the other in each round, each time beginning with another one: other work of the machine
 * affects all of them alike.
 */
export async function measureRows(rows: readonly Row[], rounds: number, options: LoadOptions): Promise<Results> {
  const results: Results = new Map(rows.flatMap(({ contenders }) => contenders.map((contender) => [contender, []])));
  for (const { contenders } of rows) for (const contender of contenders) await warmUp(contender, options);
  for (let round = 0; round < rounds; round += 1) {
    for (const { contenders } of rows) {
      const first = round % contenders.length;
      for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)])
        results.get(contender)?.push(await measure(contender, options));
    }
  }
  return results;
}

/** Warms a contender up by a number of requests: on a busy machine, a number of seconds does not show that the code is compiled. */
export async function warmUp(contender: Contender, options: LoadOptions): Promise<void> {
  let requests = 0;
  for (let turn = 0; turn < warmUpTurns && requests < warmUpRequests; turn += 1)
    requests += (await measure(contender, { ...options, seconds: 2 })).requests;
}

const warmUpRequests = 5_000;
const warmUpTurns = 5;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? Number.NaN) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Returns the ratio between two contenders: the median of the rounds' ratios. */
export function ratio(results: Results, one: Contender, other: Contender, of: 'cpu' | 'perSecond'): number {
  const others = results.get(other) ?? [];
  return median((results.get(one) ?? []).map((measure, round) => measure[of] / (others[round]?.[of] ?? Number.NaN)));
}
