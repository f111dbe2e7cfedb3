import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ServerClock } from '../clock.ts';

export interface Sweep {
  /** Name of the objects in the log, in the plural: `access tokens`. */
  what: string;
  everyMs: number;
  /** Deletes expired objects. @returns the number of deleted objects */
  sweep(signal: AbortSignal): Promise<number>;
}

interface SweeperParts {
  client: { readonly serverClock: Pick<ServerClock, 'isTrusted' | 'failure'> };
  log: Logger;
}

/**
 * Deletes expired objects periodically. Every replica does so at random times, so that no leader is needed. Objects that another replica
 * has deleted, or has used since, are left alone.
 */
export class Sweeper {
  readonly #parts: SweeperParts;
  readonly #sweep: Sweep;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(parts: SweeperParts, sweep: Sweep) {
    this.#parts = parts;
    this.#sweep = sweep;
  }

  start(): void {
    this.#running ??= this.#repeat(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await this.#running;
  }

  /** Sweeps once, unless the clock of this replica is wrong, which would make objects in use look expired. */
  async run(): Promise<void> {
    const { client, log } = this.#parts;
    const { what, sweep } = this.#sweep;
    if (!client.serverClock.isTrusted)
      return log.warn({ what, why: client.serverClock.failure() }, 'clock skew: expired objects are not deleted');
    const deleted = await sweep(this.#stopping.signal);
    if (deleted > 0) log.info({ what, deleted }, 'deleted expired objects');
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    const { everyMs, what } = this.#sweep;
    while (!signal.aborted) {
      await sleep(everyMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.run().catch((error: unknown) => {
        if (!signal.aborted) this.#parts.log.warn({ what, err: error }, 'deletion of expired objects failed');
      });
    }
  }
}
