import { type Authenticator, readBearer } from '@atrium/http/authenticator.ts';
import { type Bearer, type Caller, flowOfUser } from '@atrium/http/caller.ts';
import { joinPerson } from '@atrium/http/limits/semaphore.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { VerifiedLogin } from '../issuer/verified-login.ts';
import type { Account } from '../users/record/account.ts';
import { noLongerValid, revoked } from '../users/record/conditions.ts';
import { sessionEnded, type WaitingRequest } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import type { SessionRenewal } from './renewal.ts';

/** Authenticates callers (docs/contract/conventions.md) by the bearer token in the header, otherwise by the session of the cookie. */
export class LoginAuthenticator implements Authenticator {
  readonly #context: SessionContext;
  readonly #renewal: SessionRenewal;

  constructor(context: SessionContext, renewal: SessionRenewal) {
    this.#context = context;
    this.#renewal = renewal;
  }

  async read(ctx: Context, isOptional: boolean): Promise<Bearer | undefined> {
    const bearer = readBearer(ctx.req);
    if (bearer !== undefined) return this.#verify(bearer, ctx.state);
    const secret = this.#context.cookie.read(ctx);
    return secret === undefined ? undefined : this.#ofCookie(ctx, secret, isOptional);
  }

  async #ofCookie(ctx: Context, secret: string, isOptional: boolean): Promise<Bearer | undefined> {
    try {
      return await this.#ofSession(ctx, secret, true);
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 401) throw error;
      this.#context.sessions.expireCookie(ctx, secret);
      if (isOptional) return undefined;
      throw error;
    }
  }

  readonly recognize = async (ctx: Context): Promise<string | undefined> => {
    const { cookie, sessions } = this.#context;
    const secret = cookie.read(ctx);
    const session = secret === undefined ? undefined : await sessions.known(secret).catch(() => undefined);
    return session && flowOfUser(session.row.user);
  };

  async revalidate(ctx: Context): Promise<Bearer> {
    const bearer = readBearer(ctx.req);
    if (bearer !== undefined) return this.#verify(bearer, ctx.state);
    const secret = this.#context.cookie.read(ctx);
    if (secret === undefined) throw sessionEnded();
    return this.#ofSession(ctx, secret, false);
  }

  identify(bearer: Bearer, signal: AbortSignal): Promise<Caller> {
    return this.#context.identify(bearer, signal);
  }

  /**
   * Verifies a token of a configured issuer. The API server verifies all other tokens.
   *
   * @throws StatusError 401, 503
   */
  async #verify(bearer: Bearer, request: WaitingRequest): Promise<Bearer> {
    const { issuers, accountState, revokedTokens } = this.#context;
    const verified = await issuers.bearer(bearer);
    await accountState.whenReady(request);
    if (verified === 'not ours') {
      if (revokedTokens.hasBearer(bearer.token)) throw noLongerValid(revoked);
      return bearer;
    }
    const { login } = verified;
    return { ...bearer, ...verifiedParts(login, await accountState.ownerOf(bearer.token, login, request)) };
  }

  async #ofSession(ctx: Context, secret: string, isUse: boolean): Promise<Bearer> {
    const { sessions, accountState, crossSite } = this.#context;
    const { source, signal } = ctx.state;
    const session = await sessions.find(secret, source, signal, isUse);
    if (session === undefined) throw sessionEnded();
    // From here on the person waits, not the network.
    joinPerson(ctx.state.flow, flowOfUser(session.row.user));
    await accountState.whenReady(ctx.state);
    const account = await accountState.ownerOfSession(session, signal);
    crossSite.check(ctx);
    const living = await this.#withLivingTokens(session, signal);
    const { row, secrets, bearerHash, verified } = living;
    if (verified === undefined) throw sessionEnded();
    // A renewal takes time, in which the record may change.
    const owner = living === session ? account : accountState.accountOf(row.user);
    return { token: secrets.tokens.bearer, hash: bearerHash, session: row.name, ...verifiedParts(verified, owner) };
  }

  /** Renews tokens when a fifth of their lifetime is left. A request waits only when hardly any is left. @throws StatusError 401, 503 */
  async #withLivingTokens(session: Session, signal: AbortSignal): Promise<Session> {
    const { now } = this.#context;
    const { issuedAt, bearerExpiresAt, refreshToken } = session.secrets.tokens;
    const left = bearerExpiresAt - now().getTime() / 1000;
    const life = bearerExpiresAt - issuedAt;
    if (refreshToken === undefined) {
      if (left <= 0) throw sessionEnded();
      return session;
    }
    if (left <= Math.min(10, life / 20)) return this.#renewal.renew(session, signal);
    if (left <= life / 5) this.#renewal.renewAhead(session);
    return session;
  }
}

/** The members of a bearer that a verified login decides. */
function verifiedParts(login: VerifiedLogin, account: Account | undefined): Omit<Bearer, 'token' | 'hash'> {
  const { issuer, claims, subject } = login;
  const { auth_time: authTime, acr } = claims;
  return {
    isVerified: true,
    ...(!issuer.settings.isForwarded && { actAs: login.identity }),
    ...(subject && { subject }),
    ...(typeof authTime === 'number' && { login: { authTime, ...(typeof acr === 'string' && { acr }) } }),
    ...(account && { user: account.name, mustChangePassword: account.mustChangePassword }),
  };
}
