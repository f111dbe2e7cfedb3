import { hash } from 'node:crypto';
import { tooManyRequests } from '../api/status.ts';
import type { Lister } from '../collection/lister.ts';
import type { Page } from '../collection/page.ts';
import type { Scope } from '../collection/query.ts';
import { KeyedTurns } from '../http/keyed-turns.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import { AnswerCache } from '../kubernetes/answer-cache.ts';
import { callerKey } from '../kubernetes/caller-key.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { inNamespace, type NamespaceForecast } from '../rbac/grants.ts';
import type { RbacWatch } from '../rbac/watch.ts';
import { type Forecast, Forecasts, isIn, type Question, questionKey } from './forecasts.ts';
import type { NamespaceRow } from './namespace-row.ts';
import type { NamespacesQuery } from './namespaces-schema.ts';

/** So many are reviewed at once, so that `total` counts what the API server allows and not what the roles seem to. */
const maxReviewedAtOnce = 100;
/** Each asks about every namespace of the cluster; of one caller one at a time, so that there is room for others. */
const maxWholeReviews = 4;
const wholeReviewsOfCaller = { atOnce: 1, maxWaiting: 8, what: 'lists of namespaces of this caller are waiting' };
/** Names of namespaces in all kept reviews together: about 4 MiB. */
const maxNames = 100_000;

export interface NamespacesServiceOptions {
  access: AccessReviews;
  rbac: RbacWatch;
  namespaces: WatchCache<NamespaceRow>;
  lister: Lister<NamespaceRow>;
  metrics: Metrics;
}

/**
 * Lists the namespaces in which a caller may do something. The watched roles say which ones to ask about; that a namespace is told, the
 * API server has said for this caller, this question and this namespace.
 */
export class NamespacesService {
  readonly #options: NamespacesServiceOptions;
  readonly #forecasts: Forecasts;
  /** Where reviews, and nothing but reviews, have said yes. */
  readonly #reviewed: AnswerCache<ReadonlySet<string>>;
  #known: { revision: number; names: readonly string[] } = { revision: -1, names: [] };
  readonly #turns = new KeyedTurns(wholeReviewsOfCaller);
  #wholeReviews = 0;

  constructor(options: NamespacesServiceOptions) {
    const { access, metrics } = options;
    this.#options = options;
    this.#forecasts = new Forecasts({ ...options, names: () => this.#names() });
    this.#reviewed = new AnswerCache<ReadonlySet<string>>({
      name: 'namespace_reviews',
      maxEntries: maxNames,
      sizeOf: (names) => 1 + names.size,
      lifetimeMs: () => access.keepMs,
      metrics,
    });
  }

  /** A NamespaceList. @throws StatusError 400, 410, 429, 503, 504, and what the API server refuses a review with */
  async list(parameters: NamespacesQuery, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { lister, rbac } = this.#options;
    const { verb, group, resource, subresource } = parameters;
    const question = { verb, group, resource, subresource };
    await lister.whenFresh(parameters, signal);
    rbac.requireSynced();
    const forecast = await this.#forecasts.of(question, caller, signal);
    const page = (scope: Scope<NamespaceRow>) => lister.list(parameters, signal, scope);
    const told = await this.#told(forecast, question, caller, signal);
    if (told !== undefined) return page(scopeOf(told));
    const first = await page({
      key: forecast.allowed === 'all' ? 'all' : keyOf(forecast.allowed),
      fits: ({ name }) => isIn(forecast.allowed, name),
    });
    // So many are not asked about one by one and kept, but all at once.
    if (!first.isHeld) return page(scopeOf(await this.#review(forecast, question, caller, signal)));
    if (await this.#isConfirmed(first, question, caller, signal)) return first;
    this.#forecasts.doubt('saysTooMuch', question, caller);
    return page(scopeOf(await this.#review({ ...forecast, doubt: 'saysTooMuch' }, question, caller, signal)));
  }

  /** Those that reviews have allowed; undefined if it is left to the roles, and only what is shown to reviews. */
  async #told(forecast: Forecast, question: Question, caller: Caller, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    if (forecast.doubt === 'saysTooLittle') return this.#review(forecast, question, caller, signal);
    const names = this.#namesIn(forecast.allowed);
    if (names.length <= maxReviewedAtOnce) return this.#allowedOf(names, question, caller, signal);
    return forecast.doubt === undefined ? undefined : this.#review(forecast, question, caller, signal);
  }

  async #isConfirmed({ names }: Page, question: Question, caller: Caller, signal: AbortSignal): Promise<boolean> {
    return (await this.#allowedOf(names, question, caller, signal)).size === names.length;
  }

  /** By a review for each namespace that may be one of them, of many at a time. */
  #review({ allowed, doubt }: Forecast, question: Question, caller: Caller, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const key = `${doubt} ${this.#options.rbac.revision} ${questionKey(question, caller)}`;
    const review = async (shared: AbortSignal) => {
      if (this.#wholeReviews >= maxWholeReviews) throw tooManyRequests('too many lists of namespaces are being made; try again');
      this.#wholeReviews += 1;
      try {
        const names = this.#namesIn(doubt === 'saysTooLittle' ? 'all' : allowed);
        return await this.#allowedOf(names, question, caller, shared, { isKept: false });
      } finally {
        this.#wholeReviews -= 1;
      }
    };
    return this.#reviewed.get(key, signal, (shared) => this.#turns.run(callerKey(caller), () => review(shared), shared));
  }

  async #allowedOf(
    names: readonly string[],
    question: Question,
    caller: Caller,
    signal: AbortSignal,
    options?: { isKept: boolean },
  ): Promise<ReadonlySet<string>> {
    const asked = names.map((name) => inNamespace(question, name));
    const answers = await this.#options.access.canEach(caller, asked, signal, options);
    return new Set(names.filter((_name, index) => answers[index]));
  }

  /** Those that are there of the ones that a forecast allows. */
  #namesIn(allowed: NamespaceForecast): readonly string[] {
    if (allowed === 'all') return this.#names();
    return [...allowed].filter((name) => this.#options.namespaces.get(name) !== undefined);
  }

  /** Read out once per change, since there may be many. */
  #names(): readonly string[] {
    const { namespaces } = this.#options;
    const { revision } = namespaces;
    if (this.#known.revision !== revision) this.#known = { revision, names: Array.from(namespaces.values(), ({ name }) => name) };
    return this.#known.names;
  }
}

const scopeOf = (names: ReadonlySet<string>): Scope<NamespaceRow> => ({ key: keyOf(names), fits: ({ name }) => names.has(name) });

/** Equal sets have equal keys, so that lists are found again for each caller. */
const keyOf = (names: ReadonlySet<string>): string => hash('sha256', [...names].sort().join('/'), 'base64url');
