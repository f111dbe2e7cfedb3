import type { Bearer, Caller, Identity, ViewTarget } from '@atrium/http/caller.ts';
import { textBytes } from '@atrium/http/limits/bounded-cache.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { StatusError, serviceUnavailable, unauthorized } from '@atrium/objects/status.ts';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { AnswerCache } from './answer-cache.ts';
import type { CallerClient, KubernetesClient } from './kubernetes-client.ts';
import type { ServiceClient } from './own-account.ts';
import { errorCode, pageAsOutage, UpstreamError, upstreamRefusal } from './upstream-error.ts';

const maxAgeMs = 60_000;
const refusalMaxAgeMs = 1000;
/** Bound of the cached identities: some 10,000. A user may have thousands of groups. */
const maxBytes = 24 * 1024 * 1024;

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

interface IdentityCacheOptions {
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
      maxBytes,
      bytesOf: (verdict) => (verdict === 'refused' ? 0 : textBytes(JSON.stringify(verdict.identity))),
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

/** Form of a JWT. Other tokens, such as access tokens and those of a token file, are not decoded, because the error is slow. */
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Returns the milliseconds until a token that the API server has accepted expires, Infinity if it has no expiry. Use it only to drop a
 * cached answer earlier: claims of a token that was not verified here decide nothing.
 */
export function tokenLifetimeMs(token: string, now: Date): number {
  if (!jwtPattern.test(token)) return Number.POSITIVE_INFINITY;
  try {
    const { exp } = decodeJwt(token);
    return typeof exp === 'number' ? exp * 1000 - now.getTime() : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

interface SelfReview {
  group: 'authentication.k8s.io' | 'authorization.k8s.io';
  kind: 'SelfSubjectReview' | 'SelfSubjectAccessReview' | 'SelfSubjectRulesReview' | 'SubjectAccessReview';
  spec?: unknown;
  signal: AbortSignal;
}

/**
 * Sends a review with the rights of the caller. The API server stores nothing, so that it can be repeated.
 *
 * @returns the review with its status, unchanged
 * @throws UpstreamError the refusal of the API server
 * @throws StatusError 503 if the API server cannot be reached, fails, or does not know the review, whose 404 must not look like that of an
 * object; 504
 */
export async function selfReview(client: CallerClient, { group, kind, spec, signal }: SelfReview): Promise<unknown> {
  const resource = `${kind.toLowerCase()}s`;
  try {
    return await client.request({
      call: `create ${resource}`,
      method: 'POST',
      path: `/apis/${group}/v1/${resource}`,
      body: { apiVersion: `${group}/v1`, kind, ...(spec !== undefined && { spec }) },
      isRepeatable: true,
      signal,
    });
  } catch (error) {
    if (error instanceof UpstreamError && isUnavailable(error.status.code)) throw serviceUnavailable('kubernetes', { cause: error });
    throw pageAsOutage(error);
  }
}

/** Reports whether a refusal becomes a 503. 503 and 504 are passed on, with their Retry-After. */
const isUnavailable = (code: number) => code === 404 || code === 405 || (code >= 500 && code !== 503 && code !== 504);

const probeMs = 5_000;

/** Returns the reason why the API server does not answer the service's own account, undefined if it does. */
export async function serverProblem(client: ServiceClient): Promise<string | undefined> {
  const signal = AbortSignal.timeout(probeMs);
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    await client.request({ call: 'create selfsubjectreviews', method: 'POST', path, body, signal });
    return undefined;
  } catch (error) {
    const said = upstreamRefusal(error);
    if (said !== undefined) return `refuses the account: ${said.status.code} ${said.status.reason ?? ''}`.trim();
    const cause = error instanceof StatusError ? error.cause : error;
    return `cannot be reached (${signal.aborted ? 'no answer in time' : (errorCode(cause) ?? 'unexpected answer')})`;
  }
}
