import { setTimeout as sleep } from 'node:timers/promises';

/** Time, for what looks again and again. Tests bring one of their own. */
export interface Timer {
  /** Milliseconds that only ever grow. */
  now(): number;
  /** @throws Error if the signal ends it */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTimer: Timer = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};
