import { LRUCache } from 'lru-cache';
import { StatusError, serviceUnavailable } from '../api/status.ts';
import { atMost } from '../http/bound.ts';
import { RateLimit } from '../http/rate-limit.ts';
import type { ApiCall, CallerClient, ServiceClient } from '../kubernetes/kubernetes-client.ts';
import { isKubernetesObject, resourcePath } from '../kubernetes/resource.ts';
import { compareResourceVersions } from '../kubernetes/resource-version.ts';
import { listedWithinMs, madeWithinMs, seenWithinMs, until } from '../kubernetes/until.ts';
import { UpstreamError } from '../kubernetes/upstream-error.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import { type Moment, type SessionRow, sessionResource, sessionRow } from './record.ts';

const maxNames = 10_000;
const rememberMs = 60_000;
/** Sessions that the watch has not told of yet and that are read by name instead, per minute: for one client address, and for all. */
const readsPerSource = 60;
const readsInAll = 1_200;
/** Beyond these, no request waits for the watch instead. */
const maxWaiting = 100;

type StoreServices = Pick<Services, 'client' | 'namespace' | 'log' | 'metrics' | 'now' | 'clock'>;

interface Deletion {
  client?: Pick<CallerClient, 'request'>;
  options?: { preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined }; dryRun?: readonly ['All'] };
  /** Whether it may be sent again after a failure that may have come after it. */
  isRepeatable?: boolean;
}

/** As it is sent. */
interface NewObject {
  readonly metadata: { readonly name: string; readonly [member: string]: unknown };
  readonly [member: string]: unknown;
}

/** The Session objects: followed by a watch, written by compare-and-swap. */
export class SessionStore {
  readonly #client: ServiceClient;
  readonly #namespace: string;
  readonly #moment: () => Moment;
  readonly #cache: WatchCache<SessionRow>;
  /** What was written or read here, until the watch has come as far. */
  readonly #ahead = new LRUCache<string, SessionRow>(atMost(maxNames));
  /** Names without a session, so that they are not asked for twice. */
  readonly #gone = new LRUCache<string, true>({ ...atMost(maxNames), ttl: rememberMs });
  readonly #reading = new Map<string, Promise<SessionRow | undefined>>();
  readonly #readsOf = new RateLimit({ limit: readsPerSource });
  readonly #reads = new RateLimit({ limit: readsInAll });
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor({ client, namespace, log, metrics, now, clock }: StoreServices) {
    this.#client = client;
    this.#namespace = namespace;
    this.#moment = () => ({ now: now().getTime(), clock: clock() });
    this.#cache = new WatchCache<SessionRow>(
      { client, log, metrics },
      {
        name: 'sessions',
        type: sessionResource,
        namespace,
        keep: (object) => sessionRow(object, this.#moment(), this.#latest(object.metadata.name)),
      },
    );
    this.#cache.onChange(({ key }) => this.#wake(key));
  }

  start(): void {
    this.#cache.start();
  }

  stop(): Promise<void> {
    return this.#cache.stop();
  }

  /** Why the sessions are not followed; undefined if they are. */
  failure(): string | undefined {
    return this.#cache.missing();
  }

  values(): IterableIterator<SessionRow> {
    return this.#cache.values();
  }

  /** For lists: what the watch has told, and no more. */
  get cache(): WatchCache<SessionRow> {
    return this.#cache;
  }

  /** Resolves when the watch has told so, or after a moment: what was written here then shows in lists. */
  async whenTold(isTrue: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#cache.until(isTrue, seenWithinMs, signal);
  }

  /** As far as this replica knows, without asking. */
  get(name: string): SessionRow | undefined {
    if (this.#gone.has(name)) return undefined;
    const ahead = this.#ahead.get(name);
    if (ahead === undefined) return this.#cache.get(name);
    // Once the watch has come as far, its word counts: it may be that the session is gone.
    if ((compareResourceVersions(this.#cache.resourceVersion, ahead.resourceVersion) ?? 1) < 0) return ahead;
    this.#ahead.delete(name);
    return this.#cache.get(name);
  }

  /**
   * As `get`, but a session that the watch has not told of yet is looked for: another replica may have made it a moment ago. A caller who
   * makes names up cannot turn them into calls: what is gone is remembered, and calls are counted per client address.
   *
   * @throws StatusError 503, 504
   */
  async find(name: string, source: string, signal: AbortSignal): Promise<SessionRow | undefined> {
    await this.#whenSynced(signal);
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
   * Made again after a failure that may have come after the write, so that no session is left behind without its cookie.
   *
   * @param object under a secret name
   * @throws StatusError 503, 504
   */
  async create(object: NewObject, signal: AbortSignal): Promise<SessionRow> {
    try {
      return await this.#create(object, signal);
    } catch (error) {
      if (!(error instanceof StatusError && error.status.code === 503)) throw error;
      return await this.#create(object, signal);
    }
  }

  /**
   * Changes a session if it is still at that version.
   *
   * @returns 'conflict' if it is not, 'gone' if there is no such session any more
   * @throws StatusError 503, 504
   */
  patch(row: SessionRow, change: Record<string, unknown>, signal: AbortSignal): Promise<SessionRow | 'conflict' | 'gone'> {
    const { name, uid, resourceVersion } = row;
    const metadata = { ...(isObject(change.metadata) && change.metadata), uid, resourceVersion };
    return this.#send(name, { ...change, metadata }, signal);
  }

  /** Moves the idle end, whatever else has changed. @throws StatusError 503, 504 */
  async prolong({ name, uid }: SessionRow, idleExpiration: string, signal: AbortSignal): Promise<void> {
    await this.#send(name, { metadata: { uid }, spec: { idleExpiration } }, signal);
  }

  /** As it is in the cluster now. @throws StatusError 503, 504 */
  async read(name: string, signal: AbortSignal): Promise<SessionRow | undefined> {
    const path = resourcePath(sessionResource, { namespace: this.#namespace, name });
    const row = await this.#request({ method: 'GET', path, call: 'get sessions', signal }, name);
    return row === 'conflict' || row === 'gone' ? undefined : row;
  }

  /**
   * Deletes a session; from here on this replica knows it no more.
   *
   * @param precondition also that it has not changed since
   * @returns whether it was there, and was the same
   * @throws StatusError 503, 504
   */
  async remove(row: SessionRow, signal: AbortSignal, { isUnchanged = false } = {}): Promise<boolean> {
    const { name, uid, resourceVersion } = row;
    try {
      const preconditions = { uid, ...(isUnchanged && { resourceVersion }) };
      await this.delete(row, { options: { preconditions }, isRepeatable: true }, signal);
      return true;
    } catch (error) {
      if (codeOf(error) === 404) this.#forget(name);
      if (codeOf(error) === 404 || codeOf(error) === 409) return false;
      throw error;
    }
  }

  /**
   * Deletes a session for a caller who may, or for its user.
   *
   * @param client default: ourselves
   * @throws UpstreamError 403, 404, 409 in the API server's words; StatusError 503, 504
   */
  async delete(
    { name }: SessionRow,
    { client = this.#client, options, isRepeatable = false }: Deletion,
    signal: AbortSignal,
  ): Promise<void> {
    const path = resourcePath(sessionResource, { namespace: this.#namespace, name });
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...options };
    await client.request({ method: 'DELETE', path, body, call: 'delete sessions', signal, isRepeatable });
    if (options?.dryRun === undefined) this.#forget(name);
  }

  /** Resolves when something is heard of a session, or after that time. @throws the signal's reason when it aborts */
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

  async #create(object: NewObject, signal: AbortSignal): Promise<SessionRow> {
    const path = resourcePath(sessionResource, { namespace: this.#namespace });
    const created = await this.#request({ method: 'POST', path, body: object, call: 'create sessions', signal });
    const row = created === 'conflict' ? await this.read(object.metadata.name, signal) : created;
    if (row === undefined || row === 'gone') throw unexpected('gone');
    return row;
  }

  #send(name: string, body: unknown, signal: AbortSignal): Promise<SessionRow | 'conflict' | 'gone'> {
    const path = resourcePath(sessionResource, { namespace: this.#namespace, name });
    const contentType = 'application/merge-patch+json';
    return this.#request({ method: 'PATCH', path, body, contentType, call: 'patch sessions', signal }, name);
  }

  async #request(call: ApiCall, name?: string): Promise<SessionRow | 'conflict' | 'gone'> {
    let answer: unknown;
    try {
      answer = await this.#client.request(call);
    } catch (error) {
      if (codeOf(error) === 409) return 'conflict';
      if (codeOf(error) !== 404) throw error instanceof UpstreamError && error.status.code < 500 ? unexpected(error) : error;
    }
    const row = answer === undefined ? undefined : this.#keep(answer);
    if (row !== undefined) return row;
    if (name !== undefined) this.#forget(name);
    return 'gone';
  }

  /** Read for all who ask at that moment, so not on behalf of one of them. */
  #read(name: string): Promise<SessionRow | undefined> {
    const reading = this.read(name, new AbortController().signal).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** The newest that was seen of it here: what has not changed since keeps the times at which it was seen. */
  #latest(name: string): SessionRow | undefined {
    const [ahead, told] = [this.#ahead.peek(name), this.#cache.get(name)];
    if (ahead === undefined || told === undefined) return ahead ?? told;
    return (compareResourceVersions(ahead.resourceVersion, told.resourceVersion) ?? -1) < 0 ? told : ahead;
  }

  /** Undefined for one that is being deleted. */
  #keep(answer: unknown): SessionRow | undefined {
    if (!isKubernetesObject(answer)) throw unexpected('something else');
    const known = this.get(answer.metadata.name);
    const row = sessionRow(answer, this.#moment(), known);
    if (row === undefined) return undefined;
    // Answers may overtake each other.
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

  async #whenSynced(signal: AbortSignal): Promise<void> {
    if (await this.#cache.until(() => this.#cache.isSynced, listedWithinMs, signal)) return;
    signal.throwIfAborted();
    throw serviceUnavailable('kubernetes', { cause: new Error(`sessions: ${this.#cache.missing()}`) });
  }
}

/** What the API server says of our own objects is none of the caller's business. */
const unexpected = (cause: unknown) =>
  serviceUnavailable('kubernetes', { cause: cause instanceof Error ? cause : new Error(`a Session was answered with ${String(cause)}`) });

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const codeOf = (error: unknown): number | undefined => (error instanceof UpstreamError ? error.status.code : undefined);
