import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Bearer, Caller, Identity } from '@atrium/http/caller.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AnswerCache } from '@atrium/kubernetes/answer-cache.ts';
import { tokenLifetimeMs } from '@atrium/kubernetes/identity.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { forbiddenPath, serviceUnavailable, unauthorized } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { z } from 'zod';

const maxAgeMs = 60_000;
const refusalMaxAgeMs = 1_000;
/** Bound of the cached identities: some hundred tokens of pods. */
const maxBytes = 1024 * 1024;

/** @see https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/ */
const tokenReview = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    audiences: z.array(z.string()).default([]),
    user: z.object({ username: z.string().default(''), uid: z.string().default('') }).default({ username: '', uid: '' }),
  }),
});

type Verdict = { identity: Identity; expiresInMs: number } | 'refused';

interface StoreCallersOptions {
  /** Client with the account of the store, which may create TokenReviews. */
  client: ServiceClient;
  /** Audience of the tokens: one for the API server is refused. */
  audience: string;
  /** Names of the accounts that may write and read. */
  accounts: readonly string[];
  metrics: Metrics;
  now: () => Date;
}

/** Identifies callers of the store by TokenReviews, which are cached for a minute. */
export class StoreCallers {
  readonly #options: StoreCallersOptions;
  readonly #verdicts: AnswerCache<Verdict>;

  constructor(options: StoreCallersOptions) {
    this.#options = options;
    this.#verdicts = new AnswerCache<Verdict>({
      name: 'store-callers',
      maxBytes,
      bytesOf: () => 0,
      lifetimeMs: (verdict) => (verdict === 'refused' ? refusalMaxAgeMs : Math.min(maxAgeMs, verdict.expiresInMs)),
      metrics: options.metrics,
    });
  }

  /** @throws StatusError 401 if the API server does not accept the token for the audience; 503 or 504 if it does not answer */
  readonly identify: Authenticator['identify'] = async (bearer, signal) => {
    const verdict = await this.#verdicts.get(bearer.hash, signal, (shared) => this.#review(bearer, shared));
    if (verdict === 'refused') throw unauthorized({ tokenGiven: true });
    return { ...bearer, identity: verdict.identity };
  };

  readonly identified = (bearer: Bearer): Caller | undefined => {
    const verdict = this.#verdicts.kept(bearer.hash);
    return verdict === undefined || verdict === 'refused' ? undefined : { ...bearer, identity: verdict.identity };
  };

  /** @throws StatusError 403 for any account but those of the service */
  require({ method, path }: Context, { identity }: Caller): void {
    if (this.#options.accounts.includes(identity.name)) return;
    throw forbiddenPath({ user: identity.name, verb: method.toLowerCase(), path });
  }

  async #review({ token }: Bearer, signal: AbortSignal): Promise<Verdict> {
    const { client, audience, now } = this.#options;
    const answer = await client.request({
      call: 'create tokenreviews',
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
      isRepeatable: true,
      signal,
    });
    const review = tokenReview.safeParse(answer);
    if (!review.success) throw serviceUnavailable('kubernetes', { cause: review.error });
    const { authenticated, audiences, user } = review.data.status;
    // An authenticator that knows no audiences accepts the token and names none.
    if (!authenticated || user.username === '' || !audiences.includes(audience)) return 'refused';
    const identity = { name: user.username, uid: user.uid, groups: [], extra: {} };
    return { identity, expiresInMs: tokenLifetimeMs(token, now()) };
  }
}
