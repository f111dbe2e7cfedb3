import { setTimeout as sleep } from 'node:timers/promises';

const maxAttempts = 16;
const maxPauseMs = 20;

/**
 * Retries a read, decision and write until no other writer is faster.
 *
 * @param attempt returns undefined after a conflict
 * @param bounds of the attempts, and of the milliseconds between two of them
 * @returns undefined if conflicts persist
 */
export async function retryOnConflict<T>(
  attempt: () => Promise<T | undefined>,
  signal: AbortSignal,
  bounds = { attempts: maxAttempts, pauseMs: maxPauseMs },
): Promise<T | undefined> {
  for (let left = bounds.attempts; left > 0; left -= 1) {
    const result = await attempt();
    if (result !== undefined) return result;
    await sleep(Math.random() * bounds.pauseMs, undefined, { signal });
  }
  return undefined;
}
