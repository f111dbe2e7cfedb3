import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Services } from '../services.ts';
import type { AccessTokenRow } from './row.ts';
import { accessTokenKind } from './store.ts';

const everyMs = 300_000;
const maxPending = 100;
const maxTried = 20_000;

/** Notes on tokens when they were last used, at most every five minutes each. No request waits for it, and none fails by it. */
export class LastUse {
  readonly #services: Pick<Services, 'client' | 'log' | 'now' | 'clock'>;
  readonly #stopping = new AbortController();
  /** When this replica last tried, by uid. */
  readonly #tried = new LRUCache<string, number>(atMost(maxTried));
  readonly #pending = new Set<Promise<void>>();

  constructor(services: Pick<Services, 'client' | 'log' | 'now' | 'clock'>) {
    this.#services = services;
  }

  /** Never throws. A use that is not noted because too many are under way is noted at a later one. */
  note(row: AccessTokenRow): void {
    const { now, clock, log } = this.#services;
    const time = now();
    if (row.lastUsedAt !== undefined && time.getTime() - row.lastUsedAt < everyMs) return;
    if (clock() - (this.#tried.get(row.uid) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    if (this.#pending.size >= maxPending || this.#stopping.signal.aborted) return;
    this.#tried.set(row.uid, clock());
    const writing = this.#write(row, time)
      .catch((error: unknown) => log.debug({ accessToken: row.name, err: error }, 'the last use of an access token could not be noted'))
      .finally(() => this.#pending.delete(writing));
    this.#pending.add(writing);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await Promise.all(this.#pending);
  }

  /** Only on what this replica has seen: where another one was first, its note is as good. */
  async #write({ name, uid, resourceVersion }: AccessTokenRow, time: Date): Promise<void> {
    const change = { metadata: { uid, resourceVersion }, status: { lastUsedTime: timestamp(time) } };
    await new ServiceResource(this.#services.client, accessTokenKind).patchStatus(name, change, { signal: this.#stopping.signal });
  }
}
