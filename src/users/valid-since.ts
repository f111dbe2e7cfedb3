import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until tokens issued from then on are valid, because tokens state their time in whole seconds. A timer may end a millisecond early.
 */
export async function untilValid(since: Date, now: () => Date): Promise<void> {
  const left = () => since.getTime() - now().getTime();
  for (let tries = 2; tries > 0 && left() > 0; tries -= 1) await sleep(left());
}
