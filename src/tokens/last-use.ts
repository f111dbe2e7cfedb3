import { LRUCache } from 'lru-cache';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import { atMost } from '../limits/bound.ts';
import type { Services } from '../services.ts';
import type { AccessTokenRow } from './row.ts';
import { accessTokenKind } from './store.ts';

const everyMs = 300_000;
const maxPending = 100;
const maxTried = 20_000;

/** Records when tokens were last used, at most every five minutes for each token. No request waits for it or fails because of it. */
export class LastUse {
  readonly #services: Pick<Services, 'client' | 'log' | 'now' | 'clock'>;
  readonly #stopping = new AbortController();
  /** Time of this replica's last attempt to record a use, by UID of the token. */
  readonly #tried = new LRUCache<string, number>(atMost(maxTried));
  readonly #pending = new Set<Promise<void>>();

  constructor(services: Pick<Services, 'client' | 'log' | 'now' | 'clock'>) {
    this.#services = services;
  }

  /** Never throws. A use that is skipped because too many writes are pending is made up for by the next use. */
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

  /** Writes only to the version that this replica has seen: if another replica was faster, its timestamp is as good. */
  async #write({ name, uid, resourceVersion }: AccessTokenRow, time: Date): Promise<void> {
    const change = { metadata: { uid, resourceVersion }, status: { lastUsedTime: timestamp(time) } };
    await new ServiceResource(this.#services.client, accessTokenKind).patchStatus(name, change, { signal: this.#stopping.signal });
  }
}
