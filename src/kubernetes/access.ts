import { hash } from 'node:crypto';
import { z } from 'zod';
import { isRecord } from '../api/reader.ts';
import { forbidden, serviceUnavailable } from '../api/status.ts';
import { KeyedSemaphore } from '../http/keyed-semaphore.ts';
import type { Metrics } from '../http/metrics.ts';
import { type Bearer, type Caller, callerKey } from '../http/operation.ts';
import { AnswerCache } from './answer-cache.ts';
import type { KubernetesClient } from './kubernetes-client.ts';
import { selfReview } from './self-review.ts';
import { tokenLifetimeMs } from './token-lifetime.ts';

const denialMaxAgeMs = 1000;
const settleMs = 1000;
const maxEntries = 20_000;
/** Characters of a question that is kept as it is. */
const maxQuestionLength = 256;
/** Of one caller, whose batches would keep the others from the API server; more wait for their turn. */
const turns = { atOnce: 16, maxWaiting: 512, what: 'access reviews of this caller are waiting' };

/** A request for a resource, as RBAC names it: one question `can(VERB RESOURCE NAME)` of the contract. */
export interface ResourceAccess {
  verb: string;
  /** '' is the core group. */
  group: string;
  resource: string;
  version?: string;
  subresource?: string;
  /** Left out: at the cluster scope, or in all namespaces. */
  namespace?: string;
  /** Left out: all of them. */
  name?: string;
}

/** `status` of a SelfSubjectAccessReview; `allowed` always, the others if the API server gave them. */
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
  /** `kubernetes.accessCache`; 0 turns keeping off. */
  accessCacheMs: number;
  metrics: Metrics;
  now: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** What callers may do: asked of the API server as the caller, kept for moments, dropped when a role or binding changes. */
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
    this.#answers = new AnswerCache<Answer>({
      name: 'access',
      maxEntries,
      lifetimeMs: (answer) => Math.min(accessCacheMs, this.#maxAgeMs(answer)),
      metrics,
      clock,
    });
  }

  /** @throws StatusError as `review` does: what cannot be asked is never allowed */
  async can(caller: Bearer, access: ResourceAccess, signal: AbortSignal): Promise<boolean> {
    const resourceAttributes = attributesOf(access);
    return isAllowed(await this.#answerTo(JSON.stringify(resourceAttributes), caller, { resourceAttributes }, signal));
  }

  /**
   * Which of many they may do, in the order asked. The first failure ends it.
   *
   * @param isKept false for so many that keeping them would crowd out what others asked: each is then asked again
   * @throws StatusError as `review` does
   */
  async canEach(caller: Bearer, asked: readonly ResourceAccess[], signal: AbortSignal, { isKept = true } = {}): Promise<boolean[]> {
    const answers: boolean[] = [];
    const left = asked.entries();
    const failed = new AbortController();
    const shared = AbortSignal.any([signal, failed.signal]);
    const ask = async (access: ResourceAccess) =>
      isKept ? this.can(caller, access, shared) : isAllowed((await this.#ask(caller, { resourceAttributes: access }, shared)).status);
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

  /** False for a moment after a change of roles: the API server's authorizer follows them by a watch too, and may still answer as before. */
  get isSettled(): boolean {
    return this.#clock() - this.#clearedAt > settleMs;
  }

  /** For how long what has now been found out may be kept, in milliseconds. */
  get keepMs(): number {
    return this.isSettled ? this.#accessCacheMs : Math.min(this.#accessCacheMs, settleMs);
  }

  /** Whether the caller may get a path that is no resource. @throws StatusError as `review` does */
  async canGetPath(caller: Bearer, path: string, signal: AbortSignal): Promise<boolean> {
    return isAllowed(await this.review(caller, { nonResourceAttributes: { verb: 'get', path } }, signal));
  }

  /** What `review` would answer at once: what is kept. Undefined where the API server has to be asked. */
  kept(caller: Bearer, spec: unknown): AccessStatus | undefined {
    return this.#keptAnswer(caller, canonicalText(spec ?? null));
  }

  /** Whether it is kept that they may: then `require` has nothing to wait for. */
  isKept(caller: Bearer, access: ResourceAccess): boolean {
    const status = this.#keptAnswer(caller, madeOnce(access, attributesText));
    return status !== undefined && isAllowed(status);
  }

  /** @throws StatusError 403 in the API server's words, or as `review` does */
  async require(caller: Caller, access: ResourceAccess, signal: AbortSignal): Promise<void> {
    if (await this.can(caller, access, signal)) return;
    throw forbidden({ ...access, user: caller.identity.name });
  }

  /**
   * The answer to any `spec` of a SelfSubjectAccessReview, sent on as it is.
   *
   * @throws UpstreamError what the API server refused with (401, 403, 422)
   * @throws StatusError 429 if too many reviews of the caller wait already, 503 if the API server is out of reach or its answer says
   *   neither yes nor no, 504 if it took too long
   */
  async review(caller: Bearer, spec: unknown, signal: AbortSignal): Promise<AccessStatus> {
    return this.#answerTo(canonicalText(spec ?? null), caller, spec, signal);
  }

  /** To be called when a role or binding changes. */
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

/** An authorizer that denies has the last word (Kubernetes: `denied` and `allowed` exclude each other). */
const isAllowed = ({ allowed, denied = false }: AccessStatus) => allowed && !denied;

/** A short question is its own name: it begins with a brace, and no digest does. */
const keyOf = ({ hash: tokenHash }: Bearer, question: string): string =>
  `${tokenHash} ${question.length <= maxQuestionLength ? question : hash('sha256', question)}`;

/** Always in one order, so that it need not be looked for. */
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

/** Texts of questions that cannot change, by the question. */
const texts = new WeakMap<object, string>();

function madeOnce<Q extends object>(question: Q, make: (question: Q) => string): string {
  if (!Object.isFrozen(question)) return make(question);
  const text = texts.get(question) ?? make(question);
  texts.set(question, text);
  return text;
}

/** What is frozen is so with all its members: a question that a router keeps. */
const canonicalText = (value: unknown): string => (isRecord(value) ? madeOnce(value, canonicalJson) : canonicalJson(value));

/** Equal values give equal texts, in whatever order their members were sent. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isRecord(member) ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1))) : member,
  );
}
