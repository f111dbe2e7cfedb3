import { z } from 'zod';
import { StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';
import type { Bearer, Caller, Identity, ViewTarget } from '../http/operation.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { AnswerCache } from './answer-cache.ts';
import type { KubernetesClient } from './kubernetes-client.ts';
import { selfReview, tokenLifetimeMs } from './self-review.ts';

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

/** Result of a SelfSubjectReview of a token. */
type Verdict = { identity: Identity; expiresInMs: number } | 'refused';

export interface IdentityCacheOptions {
  apiServer: KubernetesClient;
  metrics: Metrics;
  now: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

/**
 * Identifies the users of tokens by a SelfSubjectReview, with the token itself or by impersonation. Results are cached for at most 60 s,
 * and never longer than the token is valid.
 */
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
    // A token that is refused later, for example of a deleted service account, must not be identified from the cache.
    apiServer.onRefusal(({ hash, viewing }) => {
      for (const refused of [hash, viewing?.by.hash]) if (refused !== undefined) this.#verdicts.forget(refused);
    });
  }

  /**
   * Returns the user of a token.
   *
   * @throws StatusError 401 if the API server does not accept the token; 503 or 504 if the review fails, or its answer has no user name
   */
  async identify(bearer: Bearer, signal: AbortSignal): Promise<Caller> {
    const verdict = await this.#verdicts.get(bearer.hash, signal, (shared) => this.#ask(bearer, shared));
    if (verdict === 'refused') throw unauthorized({ tokenGiven: true });
    return { ...bearer, identity: verdict.identity };
  }

  /** Returns the cached user of a token, undefined if none is cached. */
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
    // An API server that allows anonymous requests answers so for an unknown token, if it is configured not to refuse it.
    if (username === 'system:anonymous') return 'refused';
    // A proxy has dropped the impersonation headers: calls would be made with the rights of the service, or of the caller.
    const { actAs, viewing } = bearer;
    const isDropped = viewing ? !isTarget(viewing.target, { name: username, ...rest }) : actAs !== undefined && username !== actAs.name;
    if (isDropped) throw serviceUnavailable('kubernetes', { cause: new Error('impersonation has no effect') });
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

const isTarget = ({ name, uid, groups }: ViewTarget, found: Identity): boolean =>
  found.name === name && (uid === '' || found.uid === uid) && groups.every((group) => found.groups.includes(group));
