import type { Timer } from '@atrium/http/static/files.ts';

/** A clock that only the test moves. */
export class ManualTimer implements Timer {
  #now = 0;
  readonly #sleepers = new Set<{ dueAt: number; wake: () => void }>();
  #asleep = Promise.withResolvers<void>();

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { dueAt: this.#now + ms, wake: resolve };
    this.#sleepers.add(sleeper);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    this.#asleep.resolve();
    return promise;
  }

  /** Advances the clock, wakes the sleeper, and waits until it sleeps again. */
  async advance(ms: number): Promise<void> {
    await this.#asleep.promise;
    this.#now += ms;
    const due = [...this.#sleepers].filter(({ dueAt }) => dueAt <= this.#now);
    if (due.length === 0) return;
    this.#asleep = Promise.withResolvers<void>();
    for (const sleeper of due) {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    await this.#asleep.promise;
  }
}
