import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import type { Logger } from 'pino';
import { newSecret } from '../cookies/cookies.ts';
import { issuerTimeoutMs } from '../issuer/fetch.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { Issuers } from '../issuer/issuers.ts';
import { postLogoutURLsOf } from '../issuer/redirect-urls.ts';
import { FatalRefresh } from '../issuer/types.ts';
import { abortable } from '../kubernetes/deadline.ts';

/** The contract gives the issuer three seconds of a logout; the rest is for this service. */
export const issuerMs = 2_500;
/** Proxies may limit the headers of a response to 4 KiB, which include the address of the issuer's logout. */
const maxHintLength = 3_072;
/** Pauses before background retries at an issuer that could not be reached. */
const pausesMs = [5_000, 30_000, 120_000, 600_000];
/** Maximum of tokens that wait for a retry. Further tokens expire without revocation. */
const maxWaiting = 200;

/** Tokens of a login that has ended here, at its issuer. */
interface AtIssuer {
  iss: string;
  refreshToken: string | undefined;
  idToken: string | undefined;
}

/** Revokes tokens at the issuer after a logout here, and tells callers the address of the issuer's own logout. */
export class IssuerLogout {
  readonly #log: Logger;
  readonly #issuers: Issuers;
  readonly #publicURL: string;
  readonly #stopping = new AbortController();
  readonly #waiting = new Set<Promise<void>>();

  constructor(log: Logger, issuers: Issuers, publicURL: string) {
    this.#log = log;
    this.#issuers = issuers;
    this.#publicURL = publicURL;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await Promise.allSettled(this.#waiting);
  }

  /**
   * Sets the `Link` header of the response, and a `Warning` if the issuer was not reached in time.
   *
   * @returns the ID token if it does not fit into the address: the page posts it to the issuer (OpenID Connect RP-Initiated Logout 1.0, 2)
   */
  async announce(ctx: Context, { iss, refreshToken, idToken }: AtIssuer): Promise<string | undefined> {
    if (!this.#issuers.has(iss)) return undefined;
    const deadline = AbortSignal.timeout(issuerMs);
    const issuer = this.#issuers.of({ iss });
    const ending = refreshToken === undefined ? undefined : this.#end(issuer, refreshToken, deadline);
    const calls = [ending, this.#setLinkHeader(ctx, issuer, idToken)];
    for (const error of await Promise.all(calls.map((call) => failureOf(call, deadline)))) {
      if (error === undefined) continue;
      this.#log.warn({ requestId: ctx.state.requestId, err: error }, 'the identity provider was not reached at a logout');
      ctx.set('Warning', '199 - "identity provider not reached"');
    }
    return ctx.response.get('Link') !== '' && idToken !== undefined && idToken.length > maxHintLength ? idToken : undefined;
  }

  /**
   * Revokes the refresh token of a login at its issuer, if it has one and the issuer is still configured. A refusal by the issuer is
   * ignored. An issuer that cannot be reached is retried in the background.
   *
   * @throws the failure to reach the issuer
   */
  async end({ iss }: { iss: string }, refreshToken: string | undefined, deadline: AbortSignal): Promise<void> {
    if (refreshToken !== undefined && this.#issuers.has(iss)) await this.#end(this.#issuers.of({ iss }), refreshToken, deadline);
  }

  async #end(issuer: Issuer, refreshToken: string, deadline: AbortSignal): Promise<void> {
    try {
      await abortable(issuer.client.revoke(refreshToken, 'refresh_token', deadline), deadline);
    } catch (error) {
      if (error instanceof FatalRefresh) return;
      this.#endLater(issuer, refreshToken);
      throw error;
    }
  }

  #endLater(issuer: Issuer, refreshToken: string): void {
    if (this.#waiting.size >= maxWaiting || this.#stopping.signal.aborted) return;
    const trying = this.#tryAgain(issuer, refreshToken, this.#stopping.signal).finally(() => this.#waiting.delete(trying));
    this.#waiting.add(trying);
  }

  async #tryAgain({ client }: Issuer, refreshToken: string, stopping: AbortSignal): Promise<void> {
    for (const ms of pausesMs) {
      await sleep(ms, undefined, { signal: stopping, ref: false }).catch(() => undefined);
      if (stopping.aborted) return;
      try {
        const deadline = AbortSignal.any([stopping, AbortSignal.timeout(issuerTimeoutMs)]);
        await client.revoke(refreshToken, 'refresh_token', deadline);
        return;
      } catch (error) {
        if (error instanceof FatalRefresh) return;
      }
    }
    this.#log.warn('a refresh token of a login that has ended could not be revoked at the identity provider');
  }

  /** Sets the address at which the page ends the issuer's own session (OpenID Connect RP-Initiated Logout 1.0). */
  async #setLinkHeader(ctx: Context, { client, settings }: Issuer, idToken: string | undefined): Promise<void> {
    const [returnURL] = postLogoutURLsOf(this.#publicURL, settings);
    const url = await client.endSessionURL({
      ...(returnURL !== undefined && { post_logout_redirect_uri: returnURL }),
      state: newSecret(),
      ...(idToken !== undefined && idToken.length <= maxHintLength && { id_token_hint: idToken }),
    });
    if (url !== undefined) ctx.set('Link', `<${url}>; rel="logout"`);
  }
}

/** Returns the failure of a call; the deadline's reason after a timeout. */
async function failureOf(call: Promise<void> | undefined, deadline: AbortSignal): Promise<unknown> {
  try {
    if (call !== undefined) await abortable(call, deadline);
    return undefined;
  } catch (error) {
    return error;
  }
}
