import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';
import type { Caller } from '../http/operation.ts';
import { AnswerCache } from '../kubernetes/answer-cache.ts';
import { allowedNamespaces, inNamespace, type NamespaceForecast } from '../rbac/grants.ts';
import type { ResourceQuestion } from '../rbac/rules.ts';
import type { Services } from '../services.ts';

/** A request, in whichever namespace it is allowed. */
export type Question = Omit<ResourceQuestion, 'namespace' | 'name'>;

/** Of namespaces that the roles speak for, and as many of those that they do not. */
const sampleSize = 8;
/** Names of namespaces in all forecasts together: about 4 MiB. */
const maxNames = 100_000;

/** Of so many questions it is remembered for so long that the roles do not tell: a list must not change with the page that is looked at. */
const maxDoubts = 10_000;
const doubtMs = 60_000;
/** While the API server may not have seen a change of the roles that we have. */
const unsettledDoubtMs = 1_000;

/** What is wrong with a forecast: the API server says no in a namespace where the roles say yes, or yes where they say nothing. */
type Doubt = 'saysTooMuch' | 'saysTooLittle';

/** Where a caller may do something, as the watched roles have it. */
export interface RbacEstimate {
  readonly allowed: NamespaceForecast;
  readonly doubt: Doubt | undefined;
}

/**
 * Says in which namespaces a caller may do something, from the watched roles, and holds it against a few real reviews: RBAC need not be
 * the only authorizer of a cluster. Kept for as long as access decisions are, and until a role or binding changes.
 */
export class RbacEstimates {
  readonly #services: Services;
  readonly #names: () => readonly string[];
  readonly #kept: AnswerCache<NamespaceForecast>;
  readonly #doubts = new LRUCache<string, Doubt>({ ...atMost(maxDoubts), ttl: doubtMs });

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

  /** @throws StatusError 503, 504 if the API server cannot be asked, or what it refuses to be asked with */
  async of(question: Question, caller: Caller, signal: AbortSignal): Promise<RbacEstimate> {
    const key = `${this.#services.rbac.revision} ${questionKey(question, caller)}`;
    const allowed = await this.#kept.get(key, signal, (shared) => this.#make(question, caller, shared));
    return { allowed, doubt: this.#doubts.get(questionKey(question, caller)) };
  }

  /** From now on the question is answered by reviews alone. */
  doubt(doubt: Doubt, question: Question, caller: Caller): void {
    const key = questionKey(question, caller);
    const ttl = this.#services.access.isSettled ? doubtMs : unsettledDoubtMs;
    if (this.#doubts.get(key) !== 'saysTooLittle') this.#doubts.set(key, doubt, { ttl });
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
    const doubts = samples.map((name, index) => doubtOf(isIn(allowed, name), answers[index] === true));
    for (const doubt of doubts) if (doubt !== undefined) this.doubt(doubt, question, caller);
    return allowed;
  }

  #split(allowed: NamespaceForecast): { inside: readonly string[]; outside: readonly string[] } {
    const names = this.#names();
    if (allowed === 'all') return { inside: names, outside: [] };
    return { inside: names.filter((name) => allowed.has(name)), outside: names.filter((name) => !allowed.has(name)) };
  }
}

function doubtOf(isForecast: boolean, isAllowed: boolean): Doubt | undefined {
  if (isForecast === isAllowed) return undefined;
  return isForecast ? 'saysTooMuch' : 'saysTooLittle';
}

/** Nothing that was found out for one caller and question is answered to another. */
export const questionKey = ({ verb, group, resource, subresource }: Question, { hash }: Pick<Caller, 'hash'>): string =>
  JSON.stringify([hash, verb, group, resource, subresource]);

export const isIn = (allowed: NamespaceForecast, name: string): boolean => allowed === 'all' || allowed.has(name);

/** Any of them, each at most once; which ones cannot be foretold. */
function sampleOf(names: readonly string[]): string[] {
  const chosen = new Set<string>();
  const count = Math.min(sampleSize, names.length);
  while (chosen.size < count) chosen.add(names[randomInt(names.length)] ?? '');
  return [...chosen];
}
