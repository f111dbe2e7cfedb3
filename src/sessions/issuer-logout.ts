import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '@atrium/http/cookies/cookies.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { issuerTimeoutMs } from '@atrium/oidc-client/fetch.ts';
import { FatalRefresh } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import type { Logger } from 'pino';
import { type Issuer, postLogoutURLsOf } from '../issuer/issuer.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import type { SessionRow } from './record.ts';

/** The contract gives the issuer three seconds of a logout; the rest is for this service. */
const issuerMs = 2_500;
/** Proxies may limit the headers of a response to 4 KiB, which include the address of the issuer's logout. */
const maxHintLength = 3_072;
/** Pauses before background retries at an issuer that could not be reached. */
const pausesMs = [5_000, 30_000, 120_000, 600_000];
/** Maximum of tokens that wait for a retry. Further tokens expire without revocation. */
const maxWaiting = 200;
const callsAtOnce = 10;
/** A user with more sessions has most of them from a script. Further refresh tokens expire without revocation. */
const maxRevoked = 100;

/** Tokens of a login that has ended here, at its issuer. */
interface AtIssuer {
  iss: string;
  refreshToken: string | undefined;
  idToken: string | undefined;
}

interface IssuerLogoutNeeds {
  issuers: Issuers;
  /** `server.publicURL` */
  publicURL: string;
  sessions: BrowserSessions;
}

/** Revokes tokens at the issuer after a logout here, and tells callers the address of the issuer's own logout. */
export class IssuerLogout {
  readonly #log: Logger;
  readonly #issuers: Issuers;
  readonly #publicURL: string;
  readonly #sessions: BrowserSessions;
  readonly #stopping = new AbortController();
  readonly #waiting = new Set<Promise<void>>();

  constructor(log: Logger, { issuers, publicURL, sessions }: IssuerLogoutNeeds) {
    this.#log = log;
    this.#issuers = issuers;
    this.#publicURL = publicURL;
    this.#sessions = sessions;
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
      this.#log.warn({ requestId: ctx.state.requestId, err: error }, 'identity provider unreachable at a logout');
      ctx.set('Warning', '199 - "identity provider not reached"');
    }
    return ctx.response.get('Link') !== '' && idToken !== undefined && idToken.length > maxHintLength ? idToken : undefined;
  }

  /**
   * Revokes the refresh tokens of sessions that have ended here at their issuers. Never throws: failures are logged, and reported in a
   * Warning.
   */
  async endSessions(ctx: Context, rows: readonly SessionRow[]): Promise<void> {
    const deadline = AbortSignal.timeout(issuerMs);
    const failures: unknown[] = rows.length > maxRevoked ? [new Error(`${rows.length} sessions at once`)] : [];
    const revoke = async (row: SessionRow) => {
      deadline.throwIfAborted();
      const { verified, secrets } = (await this.#sessions.unseal(row)) ?? {};
      const { refreshToken } = secrets?.tokens ?? {};
      if (verified !== undefined && refreshToken !== undefined) await this.#end(verified.issuer, refreshToken, deadline);
    };
    await mapLimit(callsAtOnce, rows.slice(0, maxRevoked), async (row) => {
      await abortable(revoke(row), deadline).catch((error: unknown) => failures.push(error));
    });
    const [first] = failures;
    if (first === undefined) return;
    const requestId = ctx.state.requestId;
    this.#log.warn({ requestId, failed: failures.length, err: first }, 'identity provider was not notified of ended sessions');
    ctx.set('Warning', '199 - "identity provider not reached"');
  }

  /** Ignores a refusal by the issuer, and retries in the background if it cannot be reached. @throws the failure to reach the issuer */
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
    this.#log.warn('refresh token of an ended login could not be revoked at the identity provider');
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
