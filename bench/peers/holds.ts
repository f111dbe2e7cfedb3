import { setTimeout as sleep } from 'node:timers/promises';
import { longestHoldMs } from './process.ts';
import { type Contender, median } from './rows.ts';

const times = 7;
/** Time in which the turn of the event loop that answered has ended. */
const turnMs = 50;

/**
 * Measures for how long a single heavy request blocks the event loop of an idle service: the first time, and the median and maximum of the
 * others. `TURN` in a body is replaced by a new number each time.
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
      await sleep(turnMs);
      held.push(await longestHoldMs(metricsURL));
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
