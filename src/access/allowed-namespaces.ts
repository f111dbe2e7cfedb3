import { hash } from 'node:crypto';
import { tooManyRequests } from '../api/status.ts';
import { KeyedSemaphore } from '../http/keyed-semaphore.ts';
import { type Caller, callerKey } from '../http/operation.ts';
import { AnswerCache } from '../kubernetes/answer-cache.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { inNamespace, type NamespaceForecast } from '../rbac/grants.ts';
import type { Services } from '../services.ts';
import type { NamespaceRow } from './namespace-row.ts';
import { type Question, questionKey, type RbacEstimate, RbacEstimates } from './rbac-estimates.ts';

/** So many are reviewed at once, so that `total` counts what the API server allows and not what the roles seem to. */
const maxReviewedAtOnce = 100;
/** Each asks about every namespace of the cluster; of one caller one at a time, so that there is room for others. */
const maxWholeReviews = 4;
const wholeReviewsOfCaller = { atOnce: 1, maxWaiting: 8, what: 'lists of namespaces of this caller are waiting' };
/** Names of namespaces in all kept reviews together: about 4 MiB. */
const maxNames = 100_000;

/**
 * In which namespaces a caller may do something. The watched roles say which ones to ask about; that it is allowed in one, the API server
 * has said for this caller, this question and this namespace.
 */
export class AllowedNamespaces {
  readonly #services: Services;
  readonly #namespaces: WatchCache<NamespaceRow>;
  readonly #forecasts: RbacEstimates;
  /** Where reviews, and nothing but reviews, have said yes. */
  readonly #reviewed: AnswerCache<ReadonlySet<string>>;
  #known: { revision: number; names: readonly string[] } = { revision: -1, names: [] };
  readonly #turns = new KeyedSemaphore(wholeReviewsOfCaller);
  #wholeReviews = 0;

  constructor(services: Services, namespaces: WatchCache<NamespaceRow>) {
    const { access, metrics } = services;
    this.#services = services;
    this.#namespaces = namespaces;
    this.#forecasts = new RbacEstimates(services, () => this.#names());
    this.#reviewed = new AnswerCache<ReadonlySet<string>>({
      name: 'namespace_reviews',
      maxEntries: maxNames,
      sizeOf: (names) => 1 + names.size,
      lifetimeMs: () => access.keepMs,
      metrics,
    });
  }

  /** All of them, each by a review. @throws StatusError 429, 503, 504, and what the API server refuses a review with */
  async of(question: Question, caller: Caller, signal: AbortSignal): Promise<ReadonlySet<string>> {
    this.#services.rbac.requireSynced();
    const forecast = await this.forecast(question, caller, signal);
    return (await this.reviewedIfFew(forecast, question, caller, signal)) ?? this.review(forecast, question, caller, signal);
  }

  /** What the roles say. @throws StatusError 503, 504 */
  forecast(question: Question, caller: Caller, signal: AbortSignal): Promise<RbacEstimate> {
    return this.#forecasts.of(question, caller, signal);
  }

  /** Those that reviews have allowed; undefined if it is left to the roles, and only what is shown to reviews. */
  async reviewedIfFew(
    forecast: RbacEstimate,
    question: Question,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string> | undefined> {
    if (forecast.doubt === 'saysTooLittle') return this.review(forecast, question, caller, signal);
    const names = this.#namesIn(forecast.allowed);
    if (names.length <= maxReviewedAtOnce) return this.#allowedOf(names, question, caller, signal);
    return forecast.doubt === undefined ? undefined : this.review(forecast, question, caller, signal);
  }

  /** Whether reviews allow all of these. Where they do not, the roles say too much: from now on reviews alone count. */
  async confirm(names: readonly string[], question: Question, caller: Caller, signal: AbortSignal): Promise<boolean> {
    const isConfirmed = (await this.#allowedOf(names, question, caller, signal)).size === names.length;
    if (!isConfirmed) this.#forecasts.doubt('saysTooMuch', question, caller);
    return isConfirmed;
  }

  /** By a review for each namespace that may be one of them, of many at a time. */
  review({ allowed, doubt }: RbacEstimate, question: Question, caller: Caller, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const key = `${doubt} ${this.#services.rbac.revision} ${questionKey(question, caller)}`;
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
    const answers = await this.#services.access.canEach(caller, asked, signal, options);
    return new Set(names.filter((_name, index) => answers[index]));
  }

  /** Those that are there of the ones that a forecast allows. */
  #namesIn(allowed: NamespaceForecast): readonly string[] {
    if (allowed === 'all') return this.#names();
    return [...allowed].filter((name) => this.#namespaces.get(name) !== undefined);
  }

  /** Read out once per change, since there may be many. */
  #names(): readonly string[] {
    const { revision } = this.#namespaces;
    if (this.#known.revision !== revision) this.#known = { revision, names: Array.from(this.#namespaces.values(), ({ name }) => name) };
    return this.#known.names;
  }
}

/** Equal sets have equal keys, so that lists are found again for each caller. */
export const namesKey = (names: ReadonlySet<string>): string => hash('sha256', [...names].sort().join('/'), 'base64url');
