import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditDatabase, IndexState } from '@atrium/audit-store/store.ts';
import type { Logger } from 'pino';

const lookMs = 1_000;

/** Reports how far the index is of a store that an update has opened for the first time. The store answers meanwhile. */
export class IndexProgress {
  readonly #store: Pick<AuditDatabase, 'indexing'>;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #state: IndexState = { left: 0, failure: undefined };
  #running: Promise<void> | undefined;

  constructor(store: Pick<AuditDatabase, 'indexing'>, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Resolves once the log tells whether the index is complete. */
  async start(): Promise<void> {
    await this.#look();
    const { left } = this.#state;
    if (left === 0) return;
    this.#log.warn({ left }, 'audit events are being indexed');
    this.#running = this.#run();
  }

  /** Returns the number of events that the index lacks, undefined if it is complete. */
  readonly failure = (): string | undefined => {
    const { left, failure } = this.#state;
    if (left === 0) return undefined;
    const reason = failure === undefined ? '' : `; the last attempt failed: ${failure}`;
    return `${left} events are not in the index yet, and questions about them take longer${reason}`;
  };

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#state.left > 0 && !signal.aborted) {
      await sleep(lookMs, undefined, { signal }).catch(() => undefined);
      await this.#look().catch((error: unknown) => this.#log.warn({ err: error }, 'the index of audit events cannot be read'));
    }
    if (this.#state.left === 0) this.#log.info('audit events are indexed');
  }

  async #look(): Promise<void> {
    this.#state = await this.#store.indexing();
  }
}
