import type { Caller } from '@atrium/http/caller.ts';
import { reportCache } from '@atrium/http/limits/reports.ts';
import type { BoundedCache, SharedBound } from '@atrium/http/limits/shared-bound.ts';
import type { Seal } from '@atrium/http/seal.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { AccessReviews, ResourceAccess } from '@atrium/kubernetes/access.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { badParameter } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { ListIndex, type ReadonlyRows, type Selected } from './list-index.ts';
import { ContinueTokens, Page, sendPage } from './page.ts';
import type { ListProperties, ListRow } from './properties.ts';
import { parseQuery, queryKey, type Scope } from './query.ts';
import { defaultLimit, type ListParameters, maxItems } from './schema.ts';
import { isAfter, type Position, positionOf } from './sort.ts';

const firstListMs = 1_000;
/**
 * Bound of the age of a stale list. An interrupted watch recovers sooner; one that stays broken, for example after its permissions were
 * revoked, must not serve an old list for ever.
 */
const maxAgeSeconds = 60;

export interface ListerOptions<Row> {
  /** Cache of all objects of the resource. Must not be started yet. */
  cache: Pick<
    WatchCache<Row>,
    | 'values'
    | 'onChange'
    | 'resourceVersion'
    | 'isSynced'
    | 'whenReady'
    | 'until'
    | 'isStale'
    | 'ageSeconds'
    | 'failure'
    | 'missing'
    | 'state'
    | 'unavailable'
  >;
  /** Name of the resource: `users`. */
  name: string;
  properties: ListProperties<Row>;
  apiVersion: string;
  /** Kind of the answer: `UserList`. */
  listKind: string;
  /** Members of the answer in addition to those of every list. */
  extra?: object | undefined;
  /** Keys that seal `continue`. */
  keyRing: {
    sealFor(purpose: 'continue'): Seal;
    /** Resolves once there are keys, or the attempt to read them has failed. */
    settled(): Promise<void>;
  };
  /** Bound of the pages of all lists. */
  pages: SharedBound;
  metrics: Metrics;
  now: () => Date;
}

/** Lists objects from a watch cache, filtered, sorted and in pages (docs/contract/users.md). Callers check permissions before. */
export class Lister<Row extends ListRow> {
  readonly #options: ListerOptions<Row>;
  readonly #index: ListIndex<Row>;
  readonly #continueTokens: ContinueTokens;
  /** Pages that are served again while no object has changed. */
  readonly #pages: BoundedCache<Page>;
  readonly #keys = new WeakMap<ListParameters, string>();

  constructor(options: ListerOptions<Row>) {
    const { cache, properties, keyRing, pages, metrics, name, now } = options;
    this.#options = options;
    this.#pages = pages.cache();
    this.#index = new ListIndex(properties, { rows: () => cache.values(), resourceVersion: () => cache.resourceVersion });
    this.#continueTokens = new ContinueTokens({ seal: keyRing.sealFor('continue'), now });
    cache.onChange((change) => this.#index.record(change));
    reportCache(metrics, `${name}_lists`, () => this.#index.size);
  }

  /** Returns the cached page that `list` without a scope would return, undefined if it is outdated or has to be made. */
  kept(parameters: ListParameters): Page | undefined {
    const { cache } = this.#options;
    const { resourceVersion, continue: token } = parameters;
    if (token !== '' || (resourceVersion !== '' && resourceVersion !== '0') || !this.#isUsable) return undefined;
    const page = this.#pages.get(this.#pageKey(parameters));
    return page?.resourceVersion === cache.resourceVersion ? page : undefined;
  }

  /**
   * Returns a page.
   *
   * @param scope limits the list to the rows of this caller; default: all rows
   * @throws StatusError 400, 410, 503, 504
   */
  async list(parameters: ListParameters, signal: AbortSignal, scope?: Scope<Row>): Promise<Page> {
    const { cache } = this.#options;
    await this.whenReady(signal, parameters, scope);
    // A page behind a token is not requested twice.
    const key = parameters.continue === '' ? this.#pageKey(parameters, scope) : undefined;
    const kept = key === undefined ? undefined : this.#pages.get(key);
    if (kept?.resourceVersion === cache.resourceVersion) return kept;
    const page = await this.#page(parameters, scope);
    if (key !== undefined && page.isHeld) this.#pages.set(key, page);
    return page;
  }

  /**
   * Waits until the cache can be relied on, and has seen the `resourceVersion` of the parameters.
   *
   * @throws StatusError 503 while the objects are not known; 400, 410, 504 for the parameters
   */
  async whenReady(signal: AbortSignal, parameters?: ListParameters, scope?: Scope<Row>): Promise<void> {
    const { cache, keyRing, properties } = this.#options;
    // Right after the start, requests wait for the first list instead of a retry by the client.
    if (!cache.isSynced && cache.failure() === undefined) {
      await cache.until(() => cache.isSynced, firstListMs, signal);
      signal.throwIfAborted();
    }
    await keyRing.settled();
    if (!this.#isUsable) throw cache.unavailable();
    if (parameters === undefined || parameters.resourceVersion === '' || parameters.resourceVersion === '0') return;
    // Invalid parameters are reported before the wait, and not after it or instead of its timeout.
    await this.#positionAfter(parameters, this.#bound(parseQuery(properties, parameters).fingerprint, scope));
    await cache.whenReady(parameters.resourceVersion, signal);
  }

  /** Returns all rows of a list, on all pages, of one moment. @throws StatusError 400, 503, 504 */
  async rows(
    parameters: ListParameters,
    signal: AbortSignal,
    scope?: Scope<Row>,
  ): Promise<Pick<Selected<Row>, 'rows' | 'resourceVersion'>> {
    await this.whenReady(signal, parameters, scope);
    return this.#index.select(parameters, scope);
  }

  get #isUsable(): boolean {
    const { cache } = this.#options;
    return cache.state === 'synced' && !(cache.isStale() && cache.ageSeconds() > maxAgeSeconds);
  }

  /** Returns the key of a page. Keys of frozen parameters without a scope are made once. */
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
    // Selected again, because objects may have changed while the token was read. From here on nothing is awaited, so that the page is of
    // one moment.
    const { rows, resourceVersion } = await this.#index.select(parameters, scope);
    const { items, remaining } = slice(rows, parameters, after && rows.firstIndex((row) => isAfter(row, after, query.sortKeys)));
    const last = items.at(-1);
    const next = remaining > 0 && last !== undefined ? this.#continueTokens.issue(positionOf(last, query.sortKeys), bound) : '';
    const metadata = { resourceVersion, continue: next, remainingItemCount: remaining };
    const warning = remaining > 0 && isUnlimited(parameters) ? cutWarning : undefined;
    return new Page({ apiVersion, kind: listKind, extra, metadata, total: rows.length, items, warning });
  }

  async #positionAfter({ continue: token, page }: ListParameters, bound: string): Promise<Position | undefined> {
    if (token === '') return undefined;
    if (page !== undefined) throw badParameter('continue', 'cannot be used together with page');
    return this.#continueTokens.read(token, bound);
  }

  /** Returns the fingerprint that tokens are bound to: resource and query, and the caller if lists differ by caller. */
  #bound(fingerprint: string, scope: Scope<Row> | undefined): string {
    return [this.#options.name, fingerprint, ...(scope?.holder === undefined ? [] : [scope.holder])].join(' ');
  }
}

interface Slice<Row> {
  items: readonly Row[];
  /** Number of the items on the following pages. */
  remaining: number;
}

/** Reports whether a request asks for all items. */
const isUnlimited = ({ limit, page }: ListParameters): boolean => limit === undefined && page === undefined;

const cutWarning = `the list ends after ${maxItems} items; go on with continue, or ask for pages with limit`;

function slice<Row>(rows: ReadonlyRows<Row>, parameters: ListParameters, indexAfterToken: number | undefined): Slice<Row> {
  const { page = 1, limit = isUnlimited(parameters) ? maxItems : defaultLimit } = parameters;
  const start = indexAfterToken ?? (page - 1) * limit;
  const end = start + limit;
  return { items: rows.slice(start, end), remaining: Math.max(0, rows.length - end) };
}

/** A request as the handler of its operation receives it. The getter `signal` creates its signal on first use. */
interface ListRequest {
  ctx: Context;
  caller: Caller;
  query: ListParameters;
  readonly signal: AbortSignal;
}

interface ListAnswer<Row extends ListRow> {
  access: AccessReviews;
  /** Permission that the caller needs. Frozen, so that its text is made once. */
  right: Readonly<ResourceAccess>;
  lister: Lister<Row>;
}

/** Answers with a list of all objects to callers who may list them, synchronously if the access decision and the page are cached. */
export function answerList<Row extends ListRow>(list: ListAnswer<Row>, request: ListRequest): Promise<void> | void {
  const { ctx, caller, query } = request;
  const page = list.access.isKept(caller, list.right) ? list.lister.kept(query) : undefined;
  return page === undefined ? answerMade(list, request) : sendPage(ctx, page);
}

async function answerMade<Row extends ListRow>(
  { access, right, lister }: ListAnswer<Row>,
  { ctx, caller, query, signal }: ListRequest,
): Promise<void> {
  await access.require(caller, right, signal);
  sendPage(ctx, await lister.list(query, signal));
}
