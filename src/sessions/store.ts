import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { Sweep } from '@atrium/kubernetes/controllers/sweeper.ts';
import { listedWithinMs, madeWithinMs, neverAborts, until } from '@atrium/kubernetes/deadline.ts';
import type { CallerClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, type DeletionOptions, type NewObject, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import { isGone, isRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { type Collection, collection } from '@atrium/lists/collection.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import type { RevokedTokens } from '../revocation/revoked-tokens.ts';
import type { Services } from '../services.ts';
import { type Moment, type SessionRow, sessionKind, sessionResource, sessionRow } from './record.ts';
import { sessionProperties } from './schema.ts';

/** Covers the clock skew between replicas, and the leeway after the expiry of tokens. */
const leewayMs = 120_000;
const maxPerRun = 200;
const deletionsAtOnce = 10;

/** Deletes Sessions and RevokedTokens that have expired, and Sessions that the issuer has ended. */
export const sessionSweep = (store: SessionStore, revokedTokens: RevokedTokens, now: () => Date): Sweep => ({
  what: 'sessions and revoked tokens',
  everyMs: 300_000,
  async sweep(signal) {
    const before = now().getTime() - leewayMs;
    let deleted = 0;
    const isOver = ({ idleExpiresAt, login, createdAt }: SessionRow) =>
      idleExpiresAt < before || (login !== undefined && revokedTokens.hasEndedLogin(login, createdAt));
    for (const row of store.values().filter(isOver).slice(0, maxPerRun))
      if (await store.remove(row, signal, { isUnchanged: true })) deleted += 1;
    for (const row of [...revokedTokens.watch.values()].filter((row) => row.expiresAt < before).slice(0, maxPerRun)) {
      await revokedTokens.remove(row, signal);
      deleted += 1;
    }
    return deleted;
  },
});

const maxNames = 10_000;
const rememberMs = 60_000;
/** Maximum of reads per minute of sessions that the watch has not delivered yet: for one client address, and in total. */
const readsPerSource = 60;
const readsInAll = 1_200;
/** Maximum of sessions that requests wait for once the reads are used up. */
const maxWaiting = 100;

/** The collection without its rows, which depend on the store. */
export const collectedSessions = { resource: sessionResource, kind: sessionKind.kind, properties: sessionProperties };

/** A new Session, whose name is the hash of its secret. */
interface NewSession extends NewObject {
  readonly metadata: { readonly name: string; readonly [member: string]: unknown };
}

/** Session objects, cached by a watch and written by compare-and-swap. */
export class SessionStore {
  /** Sessions that the watch has delivered, for lists. */
  readonly collection: Collection<SessionRow>;
  readonly #resource: { type: typeof sessionResource; kind: string; namespace: string };
  readonly #objects: ServiceResource;
  readonly #moment: () => Moment;
  /** Sessions that this replica has written or read, until the watch has caught up. */
  readonly #ahead = new LRUCache<string, SessionRow>(atMost(maxNames));
  /** Names without a session, so that they are not read twice. */
  readonly #gone = new LRUCache<string, true>({ ...atMost(maxNames), ttl: rememberMs });
  readonly #reading = new Map<string, Promise<SessionRow | undefined>>();
  readonly #readsOf = new RateLimit({ limit: readsPerSource });
  readonly #reads = new RateLimit({ limit: readsInAll });
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(services: Services) {
    const { client, namespace, now, clock } = services;
    this.#resource = { ...sessionKind, namespace };
    this.#objects = new ServiceResource(client, this.#resource);
    this.#moment = () => ({ now: now().getTime(), clock: clock() });
    this.collection = collection<SessionRow>(services, {
      ...collectedSessions,
      namespace,
      row: (object) => sessionRow(object, this.#moment(), this.#latest(object.metadata.name)),
    });
    this.#cache.onChange(({ key }) => this.#wake(key));
  }

  start(): void {
    this.collection.start();
  }

  stop(): Promise<void> {
    return this.collection.stop();
  }

  /** Returns the sessions that the watch has delivered, without those that this replica knows to be deleted. */
  values(): SessionRow[] {
    return [...this.#cache.values()].filter(({ name }) => !this.#gone.has(name));
  }

  /** Returns the session that this replica knows, without a call. */
  get(name: string): SessionRow | undefined {
    if (this.#gone.has(name)) return undefined;
    const ahead = this.#ahead.get(name);
    if (ahead === undefined) return this.#cache.get(name);
    // Once the watch has caught up, the cache decides: the session may be deleted.
    if ((compareResourceVersions(this.#cache.resourceVersion, ahead.resourceVersion) ?? 1) < 0) return ahead;
    this.#ahead.delete(name);
    return this.#cache.get(name);
  }

  /**
   * Returns a session like `get`, but reads a session that the watch has not delivered yet: another replica may have created it a moment
   * ago. Callers cannot turn made-up names into calls: missing names are remembered, and reads are limited per client address.
   *
   * @throws StatusError 503, 504
   */
  async find(name: string, source: string, signal: AbortSignal): Promise<SessionRow | undefined> {
    await this.#whenReady(signal);
    const known = this.get(name);
    if (known !== undefined || this.#gone.has(name)) return known;
    const reading = this.#reading.get(name);
    if (reading !== undefined) return reading;
    if (this.#readsOf.take(source) === undefined && this.#reads.take('') === undefined) return this.#read(name);
    if (this.#waiting.size >= maxWaiting) return undefined;
    await this.changed(name, madeWithinMs, signal);
    return this.get(name);
  }

  /**
   * Creates a session. Retries after a failure that may have followed the write, so that no session is left behind without its cookie.
   *
   * @throws StatusError 503, 504
   */
  async create(object: NewSession, signal: AbortSignal): Promise<SessionRow> {
    try {
      return await this.#create(object, signal);
    } catch (error) {
      if (!(error instanceof StatusError && error.status.code === 503)) throw error;
      return await this.#create(object, signal);
    }
  }

  /**
   * Changes a session if its version is unchanged.
   *
   * @returns 'conflict' after another change, 'gone' if the session no longer exists
   * @throws StatusError 503, 504
   */
  patch(row: SessionRow, change: Record<string, unknown>, signal: AbortSignal): Promise<SessionRow | 'conflict' | 'gone'> {
    const { name, uid, resourceVersion } = row;
    const metadata = { ...(isRecord(change.metadata) && change.metadata), uid, resourceVersion };
    return this.#write(name, { ...change, metadata }, signal);
  }

  /** Sets the idle expiry, regardless of other changes. @throws StatusError 503, 504 */
  async prolong({ name, uid }: SessionRow, idleExpiration: string, signal: AbortSignal): Promise<void> {
    await this.#write(name, { metadata: { uid }, spec: { idleExpiration } }, signal);
  }

  /** Reads the session from the API server. @throws StatusError 503, 504 */
  async read(name: string, signal: AbortSignal): Promise<SessionRow | undefined> {
    const found = await this.#objects.find(name, signal);
    const row = found === undefined || found === 'notInstalled' ? undefined : this.#keep(found);
    if (row === undefined) this.#forget(name);
    return row;
  }

  /**
   * Deletes a session, and forgets it on this replica.
   *
   * @param precondition `isUnchanged` requires the version of the row
   * @returns true if the session existed and met the preconditions
   * @throws StatusError 503, 504
   */
  async remove(row: SessionRow, signal: AbortSignal, { isUnchanged = false } = {}): Promise<boolean> {
    const { name, uid, resourceVersion } = row;
    try {
      const preconditions = { uid, ...(isUnchanged && { resourceVersion }) };
      await this.#delete(this.#objects, name, { preconditions, isRepeatable: true, signal });
      return true;
    } catch (error) {
      if (isRefusal(error, 409)) return false;
      if (!isGone(error, sessionResource, name)) throw error;
      this.#forget(name);
      return false;
    }
  }

  /** Removes sessions, some at once. @param onRemoved receives each of them that existed. @throws StatusError 503, 504 */
  async removeAll(rows: readonly SessionRow[], signal: AbortSignal, onRemoved?: (row: SessionRow) => void): Promise<void> {
    await mapLimit(deletionsAtOnce, rows, async (row) => {
      if (await this.remove(row, signal)) onRemoved?.(row);
    });
  }

  /**
   * Deletes a session as a caller with the right, or for its user.
   *
   * @param client of the caller; undefined for the service account
   * @throws UpstreamError 403, 404, 409 from the API server; StatusError 503, 504
   */
  delete({ name }: SessionRow, client: CallerClient | undefined, options: DeletionOptions): Promise<void> {
    return this.#delete(client === undefined ? this.#objects : new CallerResource(client, this.#resource), name, options);
  }

  /** Waits for a change of a session, for that time at most. @throws the signal's reason when it aborts */
  async changed(name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let isHeard = false;
    const onWake = (look: () => void) =>
      this.#onWake(name, () => {
        isHeard = true;
        look();
      });
    await until(() => isHeard, onWake, timeoutMs, signal);
    signal.throwIfAborted();
  }

  #onWake(name: string, listener: () => void): () => void {
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting.add(listener));
    return () => {
      waiting.delete(listener);
      if (waiting.size === 0) this.#waiting.delete(name);
    };
  }

  get #cache() {
    return this.collection.cache;
  }

  async #create(object: NewSession, signal: AbortSignal): Promise<SessionRow> {
    const created = await this.#objects.create(object, { signal });
    const row = created === 'conflict' ? await this.read(object.metadata.name, signal) : this.#keep(created);
    if (row !== undefined) return row;
    throw serviceUnavailable('kubernetes', { cause: new Error('a Session was gone as soon as it was made') });
  }

  async #write(name: string, change: object, signal: AbortSignal): Promise<SessionRow | 'conflict' | 'gone'> {
    const written = await this.#objects.patch(name, change, { signal });
    if (written === 'conflict') return written;
    const row = written === 'gone' ? undefined : this.#keep(written);
    if (row === undefined) this.#forget(name);
    return row ?? 'gone';
  }

  async #delete(objects: ServiceResource | CallerResource, name: string, options: DeletionOptions): Promise<void> {
    await objects.delete(name, options);
    if (!options.isDryRun) this.#forget(name);
  }

  /** Reads for all concurrent requests, so no single request can abort it. */
  #read(name: string): Promise<SessionRow | undefined> {
    const reading = this.read(name, neverAborts).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** Returns the newest known row. Unchanged values keep the times at which this replica first saw them. */
  #latest(name: string): SessionRow | undefined {
    const [ahead, told] = [this.#ahead.peek(name), this.#cache.get(name)];
    if (ahead === undefined || told === undefined) return ahead ?? told;
    return (compareResourceVersions(ahead.resourceVersion, told.resourceVersion) ?? -1) < 0 ? told : ahead;
  }

  /** Remembers a session; undefined if it is being deleted. */
  #keep(object: KubernetesObject): SessionRow | undefined {
    const known = this.get(object.metadata.name);
    const row = sessionRow(object, this.#moment(), known);
    if (row === undefined) return undefined;
    // Responses may arrive out of order.
    const isOlder = known !== undefined && (compareResourceVersions(row.resourceVersion, known.resourceVersion) ?? 1) < 0;
    if (!isOlder) this.#ahead.set(row.name, row);
    this.#wake(row.name);
    return row;
  }

  #forget(name: string): void {
    this.#gone.set(name, true);
    this.#ahead.delete(name);
    this.#wake(name);
  }

  #wake(name: string): void {
    for (const listener of [...(this.#waiting.get(name) ?? [])]) listener();
  }

  async #whenReady(signal: AbortSignal): Promise<void> {
    if (this.#cache.isSynced || (await this.#cache.until(() => this.#cache.isSynced, listedWithinMs, signal))) return;
    signal.throwIfAborted();
    throw this.#cache.unavailable();
  }
}
