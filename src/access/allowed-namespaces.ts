import { hash, randomInt } from 'node:crypto';
import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { AnswerCache } from '@atrium/kubernetes/answer-cache.ts';
import { allowedNamespaces, inNamespace, type NamespaceForecast } from '@atrium/kubernetes/rbac/grants.ts';
import type { ResourceQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { tooManyRequests } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import type { Services } from '../services.ts';

/** Bound of the namespaces that are always reviewed, so that `total` counts decisions of the API server instead of estimates. */
const maxReviewedAtOnce = 100;
/** Bound of reviews of the whole cluster. Callers run them in sequence, which leaves room for others. */
const maxWholeReviews = 4;
const wholeReviewsOfCaller = { atOnce: 1, maxWaiting: 8, what: 'lists of namespaces of this caller are waiting' };
/** Bound of all cached reviews, and of all cached estimates: some 100,000 names of namespaces. */
const maxBytes = 4 * 1024 * 1024;
/** Bytes of a name in a set. The text itself is that of the watch cache. */
const nameBytes = 40;

/** The part of the watch cache of namespaces that names them. */
type WatchedNames = Pick<WatchCache<{ readonly name: string }>, 'get' | 'revision' | 'values'>;

/**
 * Namespaces in which a caller may do something. The watched roles select the namespaces to review; the API server decides for this
 * caller, this question and each namespace.
 */
export class AllowedNamespaces {
  readonly #services: Services;
  readonly #namespaces: WatchedNames;
  readonly #forecasts: RbacEstimates;
  /** Namespaces that reviews alone have allowed. */
  readonly #reviewed: AnswerCache<ReadonlySet<string>>;
  #known: { revision: number; names: readonly string[] } = { revision: -1, names: [] };
  readonly #turns = new KeyedSemaphore(wholeReviewsOfCaller);
  #wholeReviews = 0;

  constructor(services: Services, namespaces: WatchedNames) {
    const { access, metrics } = services;
    reportRefusals(metrics, 'namespaces', this.#turns);
    this.#services = services;
    this.#namespaces = namespaces;
    this.#forecasts = new RbacEstimates(services, () => this.#names());
    this.#reviewed = new AnswerCache<ReadonlySet<string>>({
      name: 'namespace_reviews',
      maxBytes,
      bytesOf: (names) => nameBytes * names.size,
      lifetimeMs: () => access.keepMs,
      metrics,
    });
  }

  /** Reviews all estimated namespaces. @throws StatusError 429, 503, 504, and refusals of a review by the API server */
  async of(question: Question, caller: Caller, signal: AbortSignal): Promise<ReadonlySet<string>> {
    this.#services.rbac.requireSynced();
    const forecast = await this.forecast(question, caller, signal);
    return (await this.reviewedIfFew(forecast, question, caller, signal)) ?? this.review(forecast, question, caller, signal);
  }

  /** Estimates the namespaces from the roles. @throws StatusError 503, 504 */
  forecast(question: Question, caller: Caller, signal: AbortSignal): Promise<RbacEstimate> {
    return this.#forecasts.of(question, caller, signal);
  }

  /** Returns the namespaces that reviews allow; undefined if the roles decide and only the shown namespaces are reviewed. */
  async reviewedIfFew(
    forecast: RbacEstimate,
    question: Question,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string> | undefined> {
    if (forecast.mismatch === 'underestimated') return this.review(forecast, question, caller, signal);
    const names = this.#namesIn(forecast.allowed);
    if (names.length <= maxReviewedAtOnce) return this.#allowedOf(names, question, caller, signal);
    return forecast.mismatch === undefined ? undefined : this.review(forecast, question, caller, signal);
  }

  /** Reports whether reviews allow all of these. Otherwise the roles overestimate, and only reviews decide from then on. */
  async confirm(names: readonly string[], question: Question, caller: Caller, signal: AbortSignal): Promise<boolean> {
    const isConfirmed = (await this.#allowedOf(names, question, caller, signal)).size === names.length;
    if (!isConfirmed) this.#forecasts.recordMismatch('overestimated', question, caller);
    return isConfirmed;
  }

  /** Reviews each estimated namespace, several concurrently. */
  review({ allowed, mismatch }: RbacEstimate, question: Question, caller: Caller, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const key = `${mismatch} ${this.#services.rbac.revision} ${questionKey(question, caller)}`;
    const review = async (shared: AbortSignal) => {
      if (this.#wholeReviews >= maxWholeReviews) throw tooManyRequests('too many lists of namespaces are being made; try again');
      this.#wholeReviews += 1;
      try {
        const names = this.#namesIn(mismatch === 'underestimated' ? 'all' : allowed);
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

  /** Returns the existing namespaces that an estimate allows. */
  #namesIn(allowed: NamespaceForecast): readonly string[] {
    if (allowed === 'all') return this.#names();
    return [...allowed].filter((name) => this.#namespaces.get(name) !== undefined);
  }

  /** Returns all names, which are collected once for each change. */
  #names(): readonly string[] {
    const { revision } = this.#namespaces;
    if (this.#known.revision !== revision) this.#known = { revision, names: Array.from(this.#namespaces.values(), ({ name }) => name) };
    return this.#known.names;
  }
}

/** Returns a key that is equal for equal sets, so that callers with equal sets share lists. */
export const namesKey = (names: ReadonlySet<string>): string => hash('sha256', [...names].sort().join('/'), 'base64url');

/** A request, without its namespace. */
type Question = Omit<ResourceQuestion, 'namespace' | 'name'>;

/** Sampled namespaces that the roles allow, and as many that they do not allow. */
const sampleSize = 8;

/** Bound and lifetime of mismatches between roles and reviews. They are remembered, so that lists do not change from page to page. */
const maxMismatches = 10_000;
const mismatchMs = 60_000;
/** Lifetime while the API server may not have seen a change of the watched roles. */
const unsettledMismatchMs = 1_000;

/** Mismatch of an estimate: the API server denies a namespace that the roles allow, or allows one that they do not. */
type Mismatch = 'overestimated' | 'underestimated';

/** Namespaces in which a caller may do something according to the watched roles. */
interface RbacEstimate {
  readonly allowed: NamespaceForecast;
  readonly mismatch: Mismatch | undefined;
}

/**
 * Estimates the namespaces in which a caller may do something from the watched roles, and verifies a sample by reviews, because a cluster
 * may have further authorizers. Estimates are cached as long as access decisions, and until a role or binding changes.
 */
class RbacEstimates {
  readonly #services: Services;
  readonly #names: () => readonly string[];
  readonly #kept: AnswerCache<NamespaceForecast>;
  readonly #mismatches = new LRUCache<string, Mismatch>({ ...atMost(maxMismatches), ttl: mismatchMs });

  /** @param names of all namespaces */
  constructor(services: Services, names: () => readonly string[]) {
    const { access, metrics } = services;
    this.#services = services;
    this.#names = names;
    this.#kept = new AnswerCache<NamespaceForecast>({
      name: 'namespace_forecasts',
      maxBytes,
      bytesOf: (allowed) => (allowed === 'all' ? 0 : nameBytes * allowed.size),
      lifetimeMs: () => access.keepMs,
      metrics,
    });
  }

  /** @throws StatusError 503, 504 if the API server cannot be reached, and refusals of a review by the API server */
  async of(question: Question, caller: Caller, signal: AbortSignal): Promise<RbacEstimate> {
    const key = `${this.#services.rbac.revision} ${questionKey(question, caller)}`;
    const allowed = await this.#kept.get(key, signal, (shared) => this.#make(question, caller, shared));
    return { allowed, mismatch: this.#mismatches.get(questionKey(question, caller)) };
  }

  /** Records a mismatch, after which only reviews answer the question. */
  recordMismatch(mismatch: Mismatch, question: Question, caller: Caller): void {
    const key = questionKey(question, caller);
    const ttl = this.#services.access.isSettled ? mismatchMs : unsettledMismatchMs;
    if (this.#mismatches.get(key) !== 'underestimated') this.#mismatches.set(key, mismatch, { ttl });
  }

  async #make(question: Question, caller: Caller, signal: AbortSignal): Promise<NamespaceForecast> {
    const { access, rbac } = this.#services;
    const isEverywhere = await access.can(caller, question, signal);
    const allowed = isEverywhere ? 'all' : allowedNamespaces(rbac, caller.identity, question);
    const { inside, outside } = this.#split(allowed);
    const samples = [...sampleOf(inside), ...sampleOf(outside)];
    const answers = await access.canEach(
      caller,
      samples.map((name) => inNamespace(question, name)),
      signal,
    );
    const mismatches = samples.map((name, index) => mismatchOf(isIn(allowed, name), answers[index] === true));
    for (const mismatch of mismatches) if (mismatch !== undefined) this.recordMismatch(mismatch, question, caller);
    return allowed;
  }

  #split(allowed: NamespaceForecast): { inside: readonly string[]; outside: readonly string[] } {
    const names = this.#names();
    if (allowed === 'all') return { inside: names, outside: [] };
    return { inside: names.filter((name) => allowed.has(name)), outside: names.filter((name) => !allowed.has(name)) };
  }
}

function mismatchOf(isForecast: boolean, isAllowed: boolean): Mismatch | undefined {
  if (isForecast === isAllowed) return undefined;
  return isForecast ? 'overestimated' : 'underestimated';
}

/** Returns the key of a question, which includes the caller, so that callers share no answers. */
const questionKey = ({ verb, group, resource, subresource }: Question, { hash }: Pick<Caller, 'hash'>): string =>
  JSON.stringify([hash, verb, group, resource, subresource]);

export const isIn = (allowed: NamespaceForecast, name: string): boolean => allowed === 'all' || allowed.has(name);

/** Returns a random sample without duplicates. */
function sampleOf(names: readonly string[]): string[] {
  const chosen = new Set<string>();
  const count = Math.min(sampleSize, names.length);
  while (chosen.size < count) chosen.add(names[randomInt(names.length)] ?? '');
  return [...chosen];
}
