import type { Context } from 'koa';
import type { Logger } from 'pino';
import { noLongerCounts, revoked } from '../accounts/refused-credential.ts';
import { type Audit, type AuditEvent, auditOrigin } from '../http/audit.ts';
import { readBearer } from '../http/bearer.ts';
import type { Identity } from '../http/operation.ts';
import { stateOf } from '../http/router.ts';
import { StatusError, unauthorized } from '../http/status.ts';
import { abortable } from './abortable.ts';
import type { AccountState } from './account-state.ts';
import { issuerMs } from './issuer-revocation.ts';
import { endedPayload, type RenewPayload } from './renew-payload.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import { newSecret, type SessionCookie } from './session-cookie.ts';
import { provenSession, type SessionPair, type SessionProofOptions } from './session-proof.ts';
import { whoseSession } from './session-record.ts';
import { FatalRefresh, type VerifiedClaims, type VerifiedToken } from './types.ts';

/** A refresh token does not tell when it ends. */
const minRefreshMs = 30 * 86_400_000;
/** Accepted that much longer than they say. */
const leewayMs = 60_000;
/** A longer URL may be refused by servers on its way. */
const maxHintLength = 2_048;

export interface LogoutOptions extends SessionProofOptions {
  accountState: AccountState;
  revokedTokens: RevokedTokens;
  cookie: SessionCookie;
  /** @throws StatusError 401, 503 */
  verify: (token: string) => Promise<VerifiedToken | 'not ours'>;
  identityOf: (claims: VerifiedClaims) => Identity;
  /** Whether a token is an ID token, and no other JWT of the issuer. */
  isIdToken: (token: string) => Promise<boolean>;
  /** Ends a token at the issuer. @throws FatalRefresh if it does not know the token, StatusError 503 */
  revoke: (refreshToken: string, signal: AbortSignal) => Promise<void>;
  /** Where the issuer ends its own session; undefined if it has no such place. @throws StatusError 503 */
  endSessionURL: (parameters: Record<string, string>) => Promise<string | undefined>;
  /** `login.postLogoutRedirectURLs`; the first is where the issuer sends the browser. */
  postLogoutRedirectURLs: readonly string[];
  /** `login.session.absolute` */
  absoluteMs: number;
  audit: Audit;
  log: Logger;
}

/** What has been ended here, and what is left to be ended at the issuer. */
interface Ended {
  storage: RenewPayload['token_storage'];
  /** Unix seconds. */
  issuedAt: number;
  refreshToken: string | undefined;
  idToken: string | undefined;
  who: Pick<AuditEvent, 'actor' | 'target'>;
}

/** Log-out (api.md 4.9). What is ours ends first; whether the issuer can be reached changes nothing about that. */
export class Logout {
  readonly #options: LogoutOptions;

  constructor(options: LogoutOptions) {
    this.#options = options;
  }

  /** @throws StatusError 400, 401, 403, 429, 503 */
  async answer(ctx: Context, refreshToken: string, signal: AbortSignal): Promise<RenewPayload> {
    const { cookie, audit, now } = this.#options;
    const secret = cookie.read(ctx);
    try {
      const ended =
        secret === undefined
          ? await this.#endTokens(ctx, refreshToken, signal)
          : await this.#endSession(ctx, { secret, handle: refreshToken }, signal);
      audit.record({ ...auditOrigin(ctx), ...ended.who, audit: 'LoggedOut', outcome: 'success' });
      if (secret !== undefined) cookie.expire(ctx);
      await this.#leaveIssuer(ctx, ended);
      return endedPayload(ended.storage, { issuedAt: ended.issuedAt, now: now() });
    } catch (error) {
      if (secret !== undefined && error instanceof StatusError && error.status.code === 401) cookie.expire(ctx);
      throw error;
    }
  }

  async #endSession(ctx: Context, pair: SessionPair, signal: AbortSignal): Promise<Ended> {
    const { sessions, now } = this.#options;
    const { session } = await provenSession(ctx, pair, this.#options);
    await sessions.end(session, signal);
    const bearer = await this.#bearer(ctx);
    if (bearer !== undefined) await this.#revokeBearer(bearer, signal);
    const { row, secrets } = session;
    const { refreshToken, idToken, issuedAt } = secrets.tokens;
    return {
      storage: 'cookie',
      issuedAt: Math.min(issuedAt, now().getTime() / 1000),
      refreshToken,
      idToken,
      who: whoseSession(row),
    };
  }

  async #endTokens(ctx: Context, refreshToken: string, signal: AbortSignal): Promise<Ended> {
    const { accountState, revokedTokens, limit, absoluteMs, identityOf, isIdToken, now } = this.#options;
    limit.require(auditOrigin(ctx).source);
    await accountState.whenKnown(signal);
    if (revokedTokens.has(refreshToken)) throw noLongerCounts(revoked);
    const bearer = await this.#bearer(ctx);
    const expiresAt = new Date(now().getTime() + Math.max(absoluteMs, minRefreshMs));
    await revokedTokens.revokeRefresh({ token: refreshToken, expiresAt }, { isProven: bearer !== undefined }, signal);
    if (bearer === undefined) return { storage: 'local', issuedAt: now().getTime() / 1000, refreshToken, idToken: undefined, who: {} };
    await this.#revokeBearer(bearer, signal);
    const { claims, login, token } = bearer;
    const account = accountState.find(login);
    return {
      storage: 'local',
      issuedAt: Math.min(claims.iat, now().getTime() / 1000),
      refreshToken,
      idToken: (await isIdToken(token)) ? token : undefined,
      who: {
        actor: { name: identityOf(claims).name, uid: claims.sub },
        ...(account && { target: { name: account.name, uid: account.uid } }),
      },
    };
  }

  /** The token that was sent along, if it is one of our issuer and verifies; whatever else is sent is not looked at (api.md 1.3). */
  async #bearer(ctx: Context): Promise<(VerifiedToken & { token: string }) | undefined> {
    try {
      const token = readBearer(ctx.req)?.token;
      const verified = token === undefined ? 'not ours' : await this.#options.verify(token);
      return token === undefined || verified === 'not ours' ? undefined : { ...verified, token };
    } catch {
      return undefined;
    }
  }

  async #revokeBearer({ token, claims }: VerifiedToken & { token: string }, signal: AbortSignal): Promise<void> {
    await this.#options.revokedTokens.revokeBearer({ token, expiresAt: new Date(claims.exp * 1000 + leewayMs) }, signal);
  }

  /** @throws StatusError 401 if the issuer does not know the refresh token any more */
  async #leaveIssuer(ctx: Context, { refreshToken, idToken }: Ended): Promise<void> {
    const { revoke, log } = this.#options;
    const deadline = AbortSignal.timeout(issuerMs);
    const calls = [refreshToken === undefined ? undefined : revoke(refreshToken, deadline), this.#link(ctx, idToken)];
    for (const error of await Promise.all(calls.map((call) => failureOf(call, deadline)))) {
      if (error instanceof FatalRefresh) throw unauthorizedBy(error);
      if (error === undefined) continue;
      log.warn({ requestId: stateOf(ctx).requestId, err: error }, 'the identity provider was not reached at a log-out');
      ctx.set('Warning', '199 - "identity provider not reached"');
    }
  }

  /** Where the page goes next, to end the issuer's own session (OpenID Connect RP-Initiated Logout 1.0). */
  async #link(ctx: Context, idToken: string | undefined): Promise<void> {
    const { endSessionURL, postLogoutRedirectURLs } = this.#options;
    const [returnURL] = postLogoutRedirectURLs;
    const url = await endSessionURL({
      ...(returnURL !== undefined && { post_logout_redirect_uri: returnURL }),
      state: newSecret(),
      ...(idToken !== undefined && idToken.length < maxHintLength && { id_token_hint: idToken }),
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

function unauthorizedBy(cause: FatalRefresh): StatusError {
  const error = unauthorized({ tokenGiven: true });
  error.cause = cause;
  return error;
}
