import type { AuditStore, StoreUsage } from '@atrium/audit-store/store.ts';
import type { Services } from '../services.ts';

/** Age from which the last answer of the store is asked for again. */
const readMs = 60_000;

/** Room of the audit store, as the store last told it. */
export class StoreRoom {
  readonly #store: Pick<AuditStore, 'usage'>;
  readonly #clock: Services['clock'];
  readonly #log: Services['log'];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<StoreUsage | undefined> | undefined;
  #usage: StoreUsage | undefined;

  constructor(store: Pick<AuditStore, 'usage'>, { clock, log }: Pick<Services, 'clock' | 'log'>) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns the room; undefined if the store does not tell it, as one of an earlier version. Concurrent calls share one question. */
  read(): Promise<StoreUsage | undefined> {
    this.#reading ??= this.#ask().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Returns the room as it was last read, without a wait. A read begins, at most once a minute. */
  last(): StoreUsage | undefined {
    if (this.#clock() - this.#readAt >= readMs) void this.read();
    return this.#usage;
  }

  async #ask(): Promise<StoreUsage | undefined> {
    this.#readAt = this.#clock();
    try {
      this.#usage = await this.#store.usage?.();
    } catch (error) {
      this.#log.warn({ err: error }, 'the room of the audit store cannot be read');
      this.#usage = undefined;
    }
    return this.#usage;
  }
}
