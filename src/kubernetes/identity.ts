import { z } from 'zod';
import { StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Bearer, Caller, Identity } from '../http/operation.ts';
import { AnswerCache } from './answer-cache.ts';
import type { KubernetesClient } from './kubernetes-client.ts';
import { selfReview } from './self-review.ts';
import { tokenLifetimeMs } from './token-lifetime.ts';

const maxAgeMs = 60_000;
const refusalMaxAgeMs = 1000;
const maxEntries = 10_000;

/** @see https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/self-subject-review-v1/ */
const selfSubjectReview = z.object({
  status: z.object({
    userInfo: z.object({
      username: z.string().min(1),
      uid: z.string().default(''),
      groups: z.array(z.string()).default([]),
      extra: z.record(z.string(), z.array(z.string())).default({}),
    }),
  }),
});

/** What the API server says of a token. */
type Verdict = { identity: Identity; expiresInMs: number } | 'refused';

export interface IdentityCacheOptions {
  apiServer: KubernetesClient;
  metrics: Metrics;
  now: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** Whose token is this: asked as the caller, with the token itself or by impersonation, kept for at most 60 s and never longer than the token. */
export class IdentityCache {
  readonly #apiServer: KubernetesClient;
  readonly #verdicts: AnswerCache<Verdict>;
  readonly #now: () => Date;

  constructor({ apiServer, metrics, now, clock }: IdentityCacheOptions) {
    this.#apiServer = apiServer;
    this.#now = now;
    this.#verdicts = new AnswerCache<Verdict>({
      name: 'identity',
      maxEntries,
      lifetimeMs: (verdict) => (verdict === 'refused' ? refusalMaxAgeMs : Math.min(maxAgeMs, verdict.expiresInMs)),
      metrics,
      ...(clock && { clock }),
    });
    // A deleted service account, for one: its token is refused at the next call, and then names no user here either.
    apiServer.onRefusal(({ hash }) => this.#verdicts.forget(hash));
  }

  /**
   * @throws StatusError 401 if the API server does not accept the token; 503 or 504 if it cannot be asked, or answers without a name
   */
  async identify(bearer: Bearer, signal: AbortSignal): Promise<Caller> {
    const verdict = await this.#verdicts.get(bearer.hash, signal, (shared) => this.#ask(bearer, shared));
    if (verdict === 'refused') throw unauthorized({ tokenGiven: true });
    return { ...bearer, identity: verdict.identity };
  }

  /** The same at once, where it is known whose it is; undefined for any other. */
  identified(bearer: Bearer): Caller | undefined {
    const verdict = this.#verdicts.kept(bearer.hash);
    return verdict === undefined || verdict === 'refused' ? undefined : { ...bearer, identity: verdict.identity };
  }

  async #ask(bearer: Bearer, signal: AbortSignal): Promise<Verdict> {
    const answer = await this.#review(bearer, signal);
    if (answer === 'refused') return answer;
    const review = selfSubjectReview.safeParse(answer);
    if (!review.success) throw serviceUnavailable('kubernetes', { cause: review.error });
    const { username, ...rest } = review.data.status.userInfo;
    // An API server that lets anonymous requests in answers so for a token that it does not know, if told not to refuse it.
    if (username === 'system:anonymous') return 'refused';
    // Something on the way has dropped the headers by which we impersonate: everything would then happen with our own rights.
    if (bearer.actAs !== undefined && username !== bearer.actAs.name)
      throw serviceUnavailable('kubernetes', { cause: new Error('impersonation has no effect') });
    return { identity: { name: username, ...rest }, expiresInMs: tokenLifetimeMs(bearer.token, this.#now()) };
  }

  async #review(bearer: Bearer, signal: AbortSignal): Promise<unknown> {
    try {
      return await selfReview(this.#apiServer.asCaller(bearer), { group: 'authentication.k8s.io', kind: 'SelfSubjectReview', signal });
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) return 'refused';
      throw error;
    }
  }
}
