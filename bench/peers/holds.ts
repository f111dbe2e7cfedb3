import { setTimeout as sleep } from 'node:timers/promises';
import { longestHoldMs } from './process.ts';
import { type Contender, median } from './rows.ts';

const times = 7;
/** The monitor of `/metrics` looks each 10 ms, and tells the time between two looks. */
const lookEveryMs = 10;

/**
 * How long a single request of the heavy kinds holds the event loop, while nothing else is asked: the first time, the median, and the
 * most of the others. `TURN` in a body is another number each time.
 */
export async function heavyHolds(contenders: readonly Contender[]): Promise<void> {
  for (const { name, target, request } of contenders) {
    const { url, metricsURL = '' } = target;
    const { method = 'GET', paths, headers = {}, body } = request;
    const held: number[] = [];
    let bytes = 0;
    for (let turn = 0; turn < times; turn += 1) {
      const path = paths[turn % paths.length];
      await longestHoldMs(metricsURL);
      const answer = await fetch(`${url}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: body.replace('TURN', `${turn}`) }),
      });
      bytes = (await answer.arrayBuffer()).byteLength;
      if (answer.status >= 300) throw new Error(`${path}: ${answer.status}`);
      await sleep(5 * lookEveryMs);
      held.push(Math.max(0, (await longestHoldMs(metricsURL)) - lookEveryMs));
    }
    const [first = Number.NaN, ...others] = held;
    const figures = [
      `first ${first.toFixed(1)} ms`,
      `then ${median(others).toFixed(1)} ms`,
      `${Math.max(...others).toFixed(1)} ms at most`,
    ];
    console.log(`- ${name} (${bytes} bytes): ${figures.join(', ')}`);
  }
}
