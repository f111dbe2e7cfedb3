import { LRUCache } from 'lru-cache';
import { badParameter, timedOut } from '../api/status.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Seal } from '../keys/seal.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { ContinueTokens } from './continue-token.ts';
import { ListIndex, type Selected } from './list-index.ts';
import { Page } from './page.ts';
import type { ListProperties, ListRow } from './properties.ts';
import { parseQuery, queryKey, type Scope } from './query.ts';
import { defaultLimit, type ListParameters, maxItems } from './schema.ts';
import { isAfter, type Position, positionOf } from './sort.ts';
import type { ReadonlyRows } from './sorted-rows.ts';

/** How long a request waits for the `resourceVersion` that it names: another replica may have told of it. */
export const freshnessTimeoutMs = 3_000;
const firstListMs = 1_000;
/** A watch that is cut is back sooner; one that is not (its rights were taken away) must not leave an old list standing for ever. */
const maxAgeSeconds = 60;

export interface ListerOptions<Row> {
  /** All objects of the resource. Not started yet. */
  cache: Pick<
    WatchCache<Row>,
    | 'values'
    | 'onChange'
    | 'resourceVersion'
    | 'isSynced'
    | 'waitFor'
    | 'until'
    | 'isStale'
    | 'ageSeconds'
    | 'failure'
    | 'missing'
    | 'state'
    | 'unavailable'
  >;
  /** Of the resource: `users`. */
  name: string;
  properties: ListProperties<Row>;
  apiVersion: string;
  /** Kind of the answer: `UserList`. */
  listKind: string;
  /** Members of the answer beside those of every list. */
  extra?: object | undefined;
  /** For `continue`: `keyRing.sealFor('continue')`. */
  seal: Seal;
  /** Resolves once there are keys to seal `continue` with, or none can be had for now: `keyRing.settled`. */
  keysSettled: () => Promise<void>;
  metrics: Metrics;
  now: () => Date;
}

/** Lists objects out of a watch cache, filtered, sorted and in pages (docs/contract/users.md). Who may see them has been asked before. */
export class Lister<Row extends ListRow> {
  readonly #options: ListerOptions<Row>;
  readonly #index: ListIndex<Row>;
  readonly #continueTokens: ContinueTokens;
  /** Answered again while nothing has changed. Not for long, as the continue token in it grows old. */
  readonly #pages = new LRUCache<string, Page>({
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: ({ bytes }) => bytes.length,
    ttl: 60_000,
    ttlResolution: 0,
  });

  readonly #keys = new WeakMap<ListParameters, string>();

  constructor(options: ListerOptions<Row>) {
    const { cache, properties, seal, metrics, name, now } = options;
    this.#options = options;
    this.#index = new ListIndex(properties, { rows: () => cache.values(), resourceVersion: () => cache.resourceVersion });
    this.#continueTokens = new ContinueTokens({ seal, now });
    cache.onChange((change) => this.#index.record(change));
    metrics.cache(() => ({ name: `${name}_lists`, entries: this.#index.size }));
  }

  /** What `list` without a scope would answer at once: a page that is kept and of now. Undefined where it has to be made. */
  kept(parameters: ListParameters): Page | undefined {
    const { cache } = this.#options;
    const { resourceVersion, continue: token } = parameters;
    if (token !== '' || (resourceVersion !== '' && resourceVersion !== '0') || !this.#isUsable) return undefined;
    const page = this.#pages.get(this.#pageKey(parameters));
    return page?.resourceVersion === cache.resourceVersion ? page : undefined;
  }

  /**
   * @param scope what of all this caller's list is about; default: everything
   * @throws StatusError 400, 410, 503, 504
   */
  async list(parameters: ListParameters, signal: AbortSignal, scope?: Scope<Row>): Promise<Page> {
    const { cache } = this.#options;
    await this.whenFresh(parameters, signal, scope);
    // The same page behind a token is not asked for again.
    const key = parameters.continue === '' ? this.#pageKey(parameters, scope) : undefined;
    const kept = key === undefined ? undefined : this.#pages.get(key);
    if (kept?.resourceVersion === cache.resourceVersion) return kept;
    const page = await this.#page(parameters, scope);
    if (key !== undefined && page.isHeld) this.#pages.set(key, page);
    return page;
  }

  /** What a list awaits before it looks: that the cache can be relied on, and has seen what the caller has. @throws StatusError 400, 410, 503, 504 */
  async whenFresh(parameters: ListParameters, signal: AbortSignal, scope?: Scope<Row>): Promise<void> {
    await this.whenUsable(signal);
    await this.#waitFor(parameters, signal, scope);
  }

  /** To be awaited before the cache is relied on. @throws StatusError 503 while it is not known what there is */
  async whenUsable(signal: AbortSignal): Promise<void> {
    const { cache, keysSettled } = this.#options;
    // Who asks right after the start need not try again while the first list is under way.
    if (!cache.isSynced && cache.failure() === undefined) {
      await cache.until(() => cache.isSynced, firstListMs, signal);
      signal.throwIfAborted();
    }
    await keysSettled();
    if (!this.#isUsable) throw cache.unavailable();
  }

  /** All rows that a list would hold, on whatever page, of one moment. @throws StatusError 400, 503, 504 */
  async rows(
    parameters: ListParameters,
    signal: AbortSignal,
    scope?: Scope<Row>,
  ): Promise<Pick<Selected<Row>, 'rows' | 'resourceVersion'>> {
    await this.whenFresh(parameters, signal, scope);
    return this.#index.select(parameters, scope);
  }

  get #isUsable(): boolean {
    const { cache } = this.#options;
    return cache.state === 'synced' && !(cache.isStale() && cache.ageSeconds() > maxAgeSeconds);
  }

  /** Made once for parameters that cannot change and have no scope. */
  #pageKey(parameters: ListParameters, scope?: Scope<Row>): string {
    const known = scope === undefined ? this.#keys.get(parameters) : undefined;
    if (known !== undefined) return known;
    const { page, limit } = parameters;
    const key = `${scope?.holder} ${page} ${limit} ${queryKey(this.#options.properties, parameters, scope)}`;
    if (scope === undefined && Object.isFrozen(parameters)) this.#keys.set(parameters, key);
    return key;
  }

  async #page(parameters: ListParameters, scope: Scope<Row> | undefined): Promise<Page> {
    const { apiVersion, listKind, extra } = this.#options;
    const { query } = await this.#index.select(parameters, scope);
    const bound = this.#bound(query.fingerprint, scope);
    const after = await this.#positionAfter(parameters, bound);
    // Again, since objects may have changed while the token was read. From here on nothing is awaited: the page is of one moment.
    const { rows, resourceVersion } = await this.#index.select(parameters, scope);
    const { items, remaining } = slice(rows, parameters, after && rows.firstIndex((row) => isAfter(row, after, query.sortKeys)));
    const last = items.at(-1);
    const next = remaining > 0 && last !== undefined ? this.#continueTokens.issue(positionOf(last, query.sortKeys), bound) : '';
    const metadata = { resourceVersion, continue: next, remainingItemCount: remaining };
    const warning = remaining > 0 && isUnlimited(parameters) ? cutWarning : undefined;
    return new Page({ apiVersion, kind: listKind, extra, metadata, total: rows.length, items, warning });
  }

  async #waitFor(parameters: ListParameters, signal: AbortSignal, scope: Scope<Row> | undefined): Promise<void> {
    const { cache, properties } = this.#options;
    const { resourceVersion } = parameters;
    if (resourceVersion === '' || resourceVersion === '0') return;
    // What is wrong with the rest is said at once, and not after a wait, or instead of its end.
    await this.#positionAfter(parameters, this.#bound(parseQuery(properties, parameters).fingerprint, scope));
    if (!(await cache.waitFor(resourceVersion, freshnessTimeoutMs, signal))) throw timedOut('kubernetes');
  }

  async #positionAfter({ continue: token, page }: ListParameters, bound: string): Promise<Position | undefined> {
    if (token === '') return undefined;
    if (page !== undefined) throw badParameter('continue', 'cannot be used together with page');
    return this.#continueTokens.read(token, bound);
  }

  /** A token of one resource is none of another, and where lists are the caller's own, none of another caller. */
  #bound(fingerprint: string, scope: Scope<Row> | undefined): string {
    return [this.#options.name, fingerprint, ...(scope?.holder === undefined ? [] : [scope.holder])].join(' ');
  }
}

interface Slice<Row> {
  items: readonly Row[];
  /** How many follow. */
  remaining: number;
}

/** Whether everything is asked for. */
const isUnlimited = ({ limit, page }: ListParameters): boolean => limit === undefined && page === undefined;

const cutWarning = `the list ends after ${maxItems} items; go on with continue, or ask for pages with limit`;

function slice<Row>(rows: ReadonlyRows<Row>, parameters: ListParameters, indexAfterToken: number | undefined): Slice<Row> {
  const { page = 1, limit = isUnlimited(parameters) ? maxItems : defaultLimit } = parameters;
  const start = indexAfterToken ?? (page - 1) * limit;
  const end = start + limit;
  return { items: rows.slice(start, end), remaining: Math.max(0, rows.length - end) };
}
