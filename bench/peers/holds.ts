import { longestHoldMs } from './process.ts';
import { type Contender, median } from './rows.ts';

const times = 7;

/**
 * How long a single request of the heavy kinds holds the event loop, while nothing else is asked: the median, and the most. `TURN` in a
 * body is another number each time.
 */
export async function heavyHolds(contenders: readonly Contender[]): Promise<void> {
  for (const { name, target, request } of contenders) {
    const { method = 'GET', paths, headers = {}, body } = request;
    const held: number[] = [];
    let bytes = 0;
    for (let turn = 0; turn < times; turn += 1) {
      const path = paths[turn % paths.length];
      if (target.metricsURL !== undefined) await longestHoldMs(target.metricsURL);
      const answer = await fetch(`${target.url}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: body.replace('TURN', `${turn}`) }),
      });
      bytes = (await answer.arrayBuffer()).byteLength;
      if (answer.status >= 300) throw new Error(`${path}: ${answer.status}`);
      if (target.metricsURL !== undefined) held.push(await longestHoldMs(target.metricsURL));
    }
    console.log(`- ${name} (${bytes} bytes): ${median(held).toFixed(1)} ms, ${Math.max(...held).toFixed(1)} ms at most`);
  }
}
