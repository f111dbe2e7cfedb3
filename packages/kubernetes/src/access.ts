import { hash } from 'node:crypto';
import { type Bearer, type Caller, callerKey } from '@atrium/http/caller.ts';
import { textBytes } from '@atrium/http/limits/bounded-cache.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { forbidden, serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { AnswerCache } from './answer-cache.ts';
import { selfReview, tokenLifetimeMs } from './identity.ts';
import type { KubernetesClient } from './kubernetes-client.ts';

const denialMaxAgeMs = 1000;
const settleMs = 1000;
/** Bound of the cached decisions: some 20,000. A reason of the API server may be long. */
const maxBytes = 24 * 1024 * 1024;
/** Bound of the characters of a question that is its own key. */
const maxQuestionLength = 256;
/** Bounds of the access reviews of one caller, whose batches would delay other callers. Further reviews wait. */
const turns = { atOnce: 16, maxWaiting: 512, what: 'access reviews of this caller are waiting' };

/** A request for a resource in the terms of RBAC: a question `can(VERB RESOURCE NAME)` of the contract. */
export interface ResourceAccess {
  verb: string;
  /** '' is the core group. */
  group: string;
  resource: string;
  version?: string;
  subresource?: string;
  /** Default: the cluster scope, or all namespaces. */
  namespace?: string;
  /** Default: all names. */
  name?: string;
}

/** Status of a SelfSubjectAccessReview. Members other than `allowed` are those that the API server sent. */
export interface AccessStatus {
  allowed: boolean;
  denied?: boolean;
  reason?: string;
  evaluationError?: string;
}

/** @see https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/ */
const selfSubjectAccessReview = z.object({
  status: z.object({
    allowed: z.boolean(),
    denied: z.boolean().exactOptional(),
    reason: z.string().exactOptional(),
    evaluationError: z.string().exactOptional(),
  }),
});

type Answer = { status: AccessStatus; tokenExpiresInMs: number };

export interface AccessReviewsOptions {
  apiServer: KubernetesClient;
  /** Value of `kubernetes.accessCache`; 0 disables the cache. */
  accessCacheMs: number;
  metrics: Metrics;
  now: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

/**
 * Checks permissions of callers by access reviews with their credentials. Decisions are cached for a short time, and dropped when a role or
 * binding changes.
 */
export class AccessReviews {
  readonly #apiServer: KubernetesClient;
  readonly #answers: AnswerCache<Answer>;
  readonly #turns = new KeyedSemaphore(turns);
  readonly #now: () => Date;
  readonly #clock: () => number;
  readonly #accessCacheMs: number;
  #clearedAt = Number.NEGATIVE_INFINITY;

  constructor({ apiServer, accessCacheMs, metrics, now, clock = () => performance.now() }: AccessReviewsOptions) {
    this.#apiServer = apiServer;
    this.#now = now;
    this.#clock = clock;
    this.#accessCacheMs = accessCacheMs;
    reportRefusals(metrics, 'reviews', this.#turns);
    this.#answers = new AnswerCache<Answer>({
      name: 'access',
      maxBytes,
      bytesOf: ({ status }) => textBytes(status.reason) + textBytes(status.evaluationError),
      lifetimeMs: (answer) => Math.min(accessCacheMs, this.#maxAgeMs(answer)),
      metrics,
      clock,
    });
  }

  /** Reports whether the caller has a permission. @throws StatusError like `review`: a failed review never allows */
  async can(caller: Bearer, access: ResourceAccess, signal: AbortSignal): Promise<boolean> {
    if (caller.scope?.permits(access) === false) return false;
    const resourceAttributes = attributesOf(access);
    return isAllowed(await this.#answerTo(JSON.stringify(resourceAttributes), caller, { resourceAttributes }, signal));
  }

  /**
   * Checks many permissions, and returns the decisions in the order of the questions. The first failure ends it.
   *
   * @param isKept false for so many questions that caching them would evict those of other callers; none of them is read from the cache
   * @throws StatusError like `review`
   */
  async canEach(caller: Bearer, asked: readonly ResourceAccess[], signal: AbortSignal, { isKept = true } = {}): Promise<boolean[]> {
    const answers: boolean[] = [];
    const left = asked.entries();
    const failed = new AbortController();
    const shared = AbortSignal.any([signal, failed.signal]);
    const ask = async (access: ResourceAccess) =>
      isKept || caller.scope?.permits(access) === false
        ? this.can(caller, access, shared)
        : isAllowed((await this.#ask(caller, { resourceAttributes: access }, shared)).status);
    const work = async () => {
      for (const [index, access] of left) answers[index] = await ask(access);
    };
    try {
      await Promise.all(Array.from({ length: Math.min(turns.atOnce, asked.length) }, work));
      return answers;
    } catch (error) {
      failed.abort();
      throw error;
    }
  }

  /**
   * False for a moment after a change of roles: the authorizer of the API server follows roles by a watch, too, and may still decide by the
   * old ones.
   */
  get isSettled(): boolean {
    return this.#clock() - this.#clearedAt > settleMs;
  }

  /** Lifetime of a result that was computed now, in milliseconds. */
  get keepMs(): number {
    return this.isSettled ? this.#accessCacheMs : Math.min(this.#accessCacheMs, settleMs);
  }

  /** Reports whether the caller may get a path that is no resource. @throws StatusError like `review` */
  async canUsePath(caller: Bearer, nonResourceAttributes: { verb: string; path: string }, signal: AbortSignal): Promise<boolean> {
    return isAllowed(await this.review(caller, { nonResourceAttributes }, signal));
  }

  /** Returns the cached answer of `review`, undefined if the API server has to be asked. */
  kept(caller: Bearer, spec: unknown): AccessStatus | undefined {
    if (!isInScope(caller, spec)) return undefined;
    return this.#keptAnswer(caller, canonicalText(spec ?? null));
  }

  /** Reports whether a cached decision allows it, so that `require` has nothing to wait for. */
  isKept(caller: Bearer, access: ResourceAccess): boolean {
    if (caller.scope?.permits(access) === false) return false;
    const status = this.#keptAnswer(caller, memoized(access, attributesText));
    return status !== undefined && isAllowed(status);
  }

  /** Checks a permission. @throws StatusError 403 in the words of the API server, or like `review` */
  async require(caller: Caller, access: ResourceAccess, signal: AbortSignal): Promise<void> {
    if (await this.can(caller, access, signal)) return;
    throw forbidden({ ...access, user: caller.identity.name });
  }

  /**
   * Answers any `spec` of a SelfSubjectAccessReview, which is sent unchanged.
   *
   * @throws UpstreamError 401, 403 or 422 of the API server
   * @throws StatusError 429 if too many reviews of the caller are waiting, 503 if the API server cannot be reached or its answer has no
   * decision, 504 after a timeout
   */
  async review(caller: Bearer, spec: unknown, signal: AbortSignal): Promise<AccessStatus> {
    if (!isInScope(caller, spec)) return { allowed: false, reason: 'the scope of the access token does not have it' };
    return this.#answerTo(canonicalText(spec ?? null), caller, spec, signal);
  }

  /** Drops all decisions. Must be called when a role or binding changes. */
  clear(): void {
    this.#answers.clear();
    this.#clearedAt = this.#clock();
  }

  async #answerTo(question: string, caller: Bearer, spec: unknown, signal: AbortSignal): Promise<AccessStatus> {
    const { status } = await this.#answers.get(keyOf(caller, question), signal, (shared) => this.#ask(caller, spec, shared));
    return status;
  }

  #keptAnswer(caller: Bearer, question: string): AccessStatus | undefined {
    return this.#answers.kept(keyOf(caller, question))?.status;
  }

  #maxAgeMs({ status, tokenExpiresInMs }: Answer): number {
    return this.isSettled && isAllowed(status) ? tokenExpiresInMs : Math.min(tokenExpiresInMs, denialMaxAgeMs);
  }

  async #ask(caller: Bearer, spec: unknown, signal: AbortSignal): Promise<Answer> {
    const client = this.#apiServer.asCaller(caller);
    const review = { group: 'authorization.k8s.io', kind: 'SelfSubjectAccessReview', spec, signal } as const;
    const answer = await this.#turns.run(callerKey(caller), () => selfReview(client, review), signal);
    const parsed = selfSubjectAccessReview.safeParse(answer);
    if (!parsed.success) throw serviceUnavailable('kubernetes', { cause: parsed.error });
    return { status: parsed.data.status, tokenExpiresInMs: tokenLifetimeMs(caller.token, this.#now()) };
  }
}

const reviewed = z.object({
  resourceAttributes: z
    .object({
      verb: z.string().default(''),
      group: z.string().default(''),
      resource: z.string().default(''),
      subresource: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
    })
    .nullish(),
  nonResourceAttributes: z.object({ verb: z.string().default(''), path: z.string().default('') }).nullish(),
});

/** Reports whether the scope of the caller has what a review asks. The API server refuses a review that cannot be read. */
function isInScope({ scope }: Bearer, spec: unknown): boolean {
  const { resourceAttributes, nonResourceAttributes } = (scope && reviewed.safeParse(spec).data) ?? {};
  return [resourceAttributes, nonResourceAttributes].every((access) => !access || scope?.permits(access) !== false);
}

/** A denial by any authorizer wins (Kubernetes: `denied` and `allowed` exclude each other). */
const isAllowed = ({ allowed, denied = false }: AccessStatus) => allowed && !denied;

/** Returns the key of a question. A short question is its own key: it begins with a brace, and no digest does. */
const keyOf = ({ hash: tokenHash }: Bearer, question: string): string =>
  `${tokenHash} ${question.length <= maxQuestionLength ? question : hash('sha256', question)}`;

/** Returns the attributes in a fixed order, so that their text needs no sorting. */
const attributesOf = ({ verb, group, resource, version, subresource, namespace, name }: ResourceAccess) => ({
  verb,
  group,
  resource,
  version,
  subresource,
  namespace,
  name,
});

const attributesText = (access: ResourceAccess): string => JSON.stringify(attributesOf(access));

/** Texts of frozen questions. */
const texts = new WeakMap<object, string>();

function memoized<Q extends object>(question: Q, make: (question: Q) => string): string {
  if (!Object.isFrozen(question)) return make(question);
  const text = texts.get(question) ?? make(question);
  texts.set(question, text);
  return text;
}

/** Returns the canonical text of a question. A frozen question, such as one that a router keeps, must be frozen with all its members. */
const canonicalText = (value: unknown): string => (isRecord(value) ? memoized(value, canonicalJson) : canonicalJson(value));

/** Returns equal texts for equal values, in any order of their members. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isRecord(member) ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1))) : member,
  );
}
