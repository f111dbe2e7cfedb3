/**
 * A webhook that says whose a bearer token is, by the rules of the API server's `--authentication-token-webhook-config-file`: asked about
 * every token that nothing else verifies, with a credential that the cluster itself has made.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
 */
import { Agent, request } from 'undici';
import { z } from 'zod';
import { AUTHENTICATED, type TokenIdentity } from './tokens.ts';

export interface TokenWebhookOptions {
  /** Whole, as the `server` of the API server's file; http or https. */
  url: string;
  /** Sent as bearer token. */
  token: string;
  /** PEM; default: those of the system. */
  certificateAuthority?: string;
}

const timeoutMs = 5_000;

/** A review without audiences means those of the API server. */
const tokenReview = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    user: z
      .object({
        username: z.string().min(1),
        uid: z.string().default(''),
        groups: z.array(z.string()).nullish(),
        extra: z.record(z.string(), z.array(z.string())).nullish(),
      })
      .optional(),
    audiences: z.array(z.string()).nullish(),
  }),
});

export class TokenWebhook {
  readonly #options: TokenWebhookOptions;
  readonly #agent: Agent;

  constructor(options: TokenWebhookOptions) {
    const { certificateAuthority: ca } = options;
    this.#options = options;
    this.#agent = new Agent({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs, ...(ca && { ca }) } });
  }

  /**
   * @param audiences whom the token may be meant for, never empty
   * @param ownAudience the API server
   * @returns undefined for a token that does not count; @throws Error if the webhook does not answer as one
   */
  async identify(token: string, audiences: readonly string[], ownAudience: string): Promise<Omit<TokenIdentity, 'expiresAt'> | undefined> {
    const { status } = tokenReview.parse(await this.#ask(token, audiences));
    const { authenticated, user } = status;
    const given = status.audiences?.length ? status.audiences : [ownAudience];
    const common = audiences.filter((audience) => given.includes(audience));
    if (!authenticated || user === undefined || common.length === 0) return undefined;
    const { username, uid, groups, extra } = user;
    const all = [...new Set([...(groups ?? []), AUTHENTICATED])];
    return { user: { username, uid, groups: all, ...(extra && { extra }) }, audiences: common };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #ask(token: string, audiences: readonly string[]): Promise<unknown> {
    const { url, token: credential } = this.#options;
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences } };
    const { statusCode, body } = await request(url, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify(review),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await body.text();
    if (statusCode < 200 || statusCode > 299) throw new Error(`the token webhook answered ${statusCode}`);
    return JSON.parse(text);
  }
}
