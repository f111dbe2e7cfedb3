import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import type { Logger } from 'pino';
import { stateOf } from '../http/request-state.ts';
import { issuerTimeoutMs } from '../issuer/fetch.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { Issuers } from '../issuer/issuers.ts';
import { postLogoutURLsOf } from '../issuer/redirect-urls.ts';
import { FatalRefresh } from '../issuer/types.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { newSecret } from './cookie.ts';

/** The contract gives the issuer three seconds of a logout; the rest is for our own part. */
export const issuerMs = 2_500;
/** Proxies may have 4 KiB for the headers of an answer, which the address of the issuer's logout is one of. */
const maxHintLength = 3_072;
/** Pauses before an issuer that was not reached is asked again, in the background. */
const pausesMs = [5_000, 30_000, 120_000, 600_000];
/** Tokens that are to be tried again; further ones end by themselves. */
const maxWaiting = 200;

/** What the issuer knows of a login that has ended here. */
interface AtIssuer {
  iss: string;
  refreshToken: string | undefined;
  idToken: string | undefined;
}

/** Tells the issuer of logouts, and callers where the issuer ends its own session. Never throws: what counts has happened before. */
export class IssuerFarewell {
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
   * Gives the answer its `Link`, and a `Warning` if the issuer was not reached in time.
   *
   * @returns the ID token if the address has no room for it: the page posts it to the issuer (OpenID Connect RP-Initiated Logout 1.0, 2)
   */
  async say(ctx: Context, { iss, refreshToken, idToken }: AtIssuer): Promise<string | undefined> {
    if (!this.#issuers.has(iss)) return undefined;
    const deadline = AbortSignal.timeout(issuerMs);
    const issuer = this.#issuers.of({ iss });
    const ending = refreshToken === undefined ? undefined : this.#end(issuer, refreshToken, deadline);
    const calls = [ending, this.#link(ctx, issuer, idToken)];
    for (const error of await Promise.all(calls.map((call) => failureOf(call, deadline)))) {
      if (error === undefined) continue;
      this.#log.warn({ requestId: stateOf(ctx).requestId, err: error }, 'the identity provider was not reached at a logout');
      ctx.set('Warning', '199 - "identity provider not reached"');
    }
    return ctx.response.get('Link') !== '' && idToken !== undefined && idToken.length > maxHintLength ? idToken : undefined;
  }

  /**
   * Ends the refresh token of a login at its issuer, if it has one and that issuer is still there. What the issuer says of it is no
   * matter; if it was not reached, it is asked again later.
   *
   * @throws whatever kept it from being reached
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

  /** Where the page goes next, to end the issuer's own session (OpenID Connect RP-Initiated Logout 1.0). */
  async #link(ctx: Context, { client, settings }: Issuer, idToken: string | undefined): Promise<void> {
    const [returnURL] = postLogoutURLsOf(this.#publicURL, settings);
    const url = await client.endSessionURL({
      ...(returnURL !== undefined && { post_logout_redirect_uri: returnURL }),
      state: newSecret(),
      ...(idToken !== undefined && idToken.length <= maxHintLength && { id_token_hint: idToken }),
    });
    if (url !== undefined) ctx.set('Link', `<${url}>; rel="logout"`);
  }
}

/** What a call failed with; the deadline's reason if it took longer. */
async function failureOf(call: Promise<void> | undefined, deadline: AbortSignal): Promise<unknown> {
  try {
    if (call !== undefined) await abortable(call, deadline);
    return undefined;
  } catch (error) {
    return error;
  }
}
