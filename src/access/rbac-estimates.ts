import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../http/operation.ts';
import { AnswerCache } from '../kubernetes/answer-cache.ts';
import { atMost } from '../limits/eviction-queue.ts';
import { allowedNamespaces, inNamespace, type NamespaceForecast } from '../rbac/grants.ts';
import type { ResourceQuestion } from '../rbac/rules.ts';
import type { Services } from '../services.ts';

/** A request, without its namespace. */
export type Question = Omit<ResourceQuestion, 'namespace' | 'name'>;

/** Sampled namespaces that the roles allow, and as many that they do not allow. */
const sampleSize = 8;
/** Names of namespaces in all cached estimates together: about 4 MiB. */
const maxNames = 100_000;

/** Bound and lifetime of mismatches between roles and reviews. They are remembered, so that lists do not change from page to page. */
const maxMismatches = 10_000;
const mismatchMs = 60_000;
/** Lifetime while the API server may not have seen a change of the watched roles. */
const unsettledMismatchMs = 1_000;

/** Mismatch of an estimate: the API server denies a namespace that the roles allow, or allows one that they do not. */
type Mismatch = 'overestimated' | 'underestimated';

/** Namespaces in which a caller may do something according to the watched roles. */
export interface RbacEstimate {
  readonly allowed: NamespaceForecast;
  readonly mismatch: Mismatch | undefined;
}

/**
 * Estimates the namespaces in which a caller may do something from the watched roles, and verifies a sample by reviews, because a cluster
 * may have further authorizers. Estimates are cached as long as access decisions, and until a role or binding changes.
 */
export class RbacEstimates {
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
      maxEntries: maxNames,
      sizeOf: (allowed) => 1 + (allowed === 'all' ? 0 : allowed.size),
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
export const questionKey = ({ verb, group, resource, subresource }: Question, { hash }: Pick<Caller, 'hash'>): string =>
  JSON.stringify([hash, verb, group, resource, subresource]);

export const isIn = (allowed: NamespaceForecast, name: string): boolean => allowed === 'all' || allowed.has(name);

/** Returns a random sample without duplicates. */
function sampleOf(names: readonly string[]): string[] {
  const chosen = new Set<string>();
  const count = Math.min(sampleSize, names.length);
  while (chosen.size < count) chosen.add(names[randomInt(names.length)] ?? '');
  return [...chosen];
}
