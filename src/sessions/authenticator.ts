import type { Context } from 'koa';
import { StatusError } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import { readBearer } from '../http/bearer.ts';
import type { Bearer, Caller, Identity } from '../http/operation.ts';
import { stateOf } from '../http/router.ts';
import type { VerifiedClaims, VerifiedToken } from '../issuer/types.ts';
import type { Account, Subject } from '../users/record/account.ts';
import { noLongerCounts, revoked } from '../users/record/refused-credential.ts';
import { type AccountState, sessionEnded } from './account-state.ts';
import type { SessionCookie } from './cookie.ts';
import type { CrossSiteRule } from './cross-site.ts';
import type { SessionRenewal } from './renewal.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import type { Session, Sessions } from './sessions.ts';

export interface LoginAuthenticatorOptions {
  sessions: Sessions;
  renewal: SessionRenewal;
  accountState: AccountState;
  revokedTokens: RevokedTokens;
  cookie: SessionCookie;
  crossSite: CrossSiteRule;
  /** @throws StatusError 401, 503 */
  verify: (token: string) => Promise<VerifiedToken | 'not ours'>;
  /** Who the claims say it is. @throws StatusError 401 */
  identityOf: (claims: VerifiedClaims) => Identity;
  /** Undefined at the embedded issuer. */
  subjectOf: (claims: VerifiedClaims) => Subject | undefined;
  /** Whether `kubernetes.credentials` is `impersonate`. */
  isImpersonated: boolean;
  /** Asks the API server. */
  identify: Authenticator['identify'];
  now: () => Date;
}

/** Who is calling (docs/contract/conventions.md): by a bearer token in the header, else by the session that the browser's cookie stands for. */
export class LoginAuthenticator implements Authenticator {
  readonly #options: LoginAuthenticatorOptions;
  /** By the claims object: made once for each version of a session. */
  readonly #identities = new WeakMap<VerifiedClaims, Identity>();

  constructor(options: LoginAuthenticatorOptions) {
    this.#options = options;
  }

  async read(ctx: Context, isOptional: boolean): Promise<Bearer | undefined> {
    const bearer = readBearer(ctx.req);
    if (bearer !== undefined) return this.#judge(bearer, stateOf(ctx).signal);
    const { cookie } = this.#options;
    const secret = cookie.read(ctx);
    if (secret === undefined) return undefined;
    try {
      return await this.#ofSession(ctx, secret, true);
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 401) throw error;
      cookie.expire(ctx);
      if (isOptional) return undefined;
      throw error;
    }
  }

  async again(ctx: Context): Promise<Bearer> {
    const bearer = readBearer(ctx.req);
    if (bearer !== undefined) return this.#judge(bearer, stateOf(ctx).signal);
    const secret = this.#options.cookie.read(ctx);
    if (secret === undefined) throw sessionEnded();
    return this.#ofSession(ctx, secret, false);
  }

  identify(bearer: Bearer, signal: AbortSignal): Promise<Caller> {
    return this.#options.identify(bearer, signal);
  }

  /**
   * A token of our issuer, after every check; any other is for the API server to judge.
   *
   * @throws StatusError 401, 503
   */
  async #judge(bearer: Bearer, signal: AbortSignal): Promise<Bearer> {
    const { verify, accountState, revokedTokens, identityOf, isImpersonated } = this.#options;
    const verified = await verify(bearer.token);
    await accountState.whenKnown(signal);
    if (revokedTokens.hasBearer(bearer.token)) throw noLongerCounts(revoked);
    if (verified === 'not ours') return bearer;
    const { claims, login } = verified;
    const identity = identityOf(claims);
    const owner = { subjectName: identity.name, issuedAt: claims.iat, login, claims };
    await accountState.whenTokenCaughtUp(owner, signal);
    const refusal = accountState.refusalOfToken(owner);
    if (refusal !== undefined) throw refusal;
    return {
      ...bearer,
      isVerified: true,
      ...(isImpersonated && { actAs: identity }),
      ...this.#subjectOf(claims),
      ...ofAccount(accountState.find(login)),
    };
  }

  async #ofSession(ctx: Context, secret: string, isUse: boolean): Promise<Bearer> {
    const { sessions, accountState, crossSite, isImpersonated } = this.#options;
    const { source, signal } = stateOf(ctx);
    const session = await sessions.find(secret, source, signal, isUse);
    if (session === undefined) throw sessionEnded();
    await accountState.whenKnown(signal);
    await accountState.whenCaughtUp(session.row, signal);
    const refusal = accountState.refusalOfSession(session);
    if (refusal !== undefined) throw refusal;
    crossSite.check(ctx);
    const { row, secrets, bearerHash } = await this.#withLivingTokens(session, signal);
    return {
      token: secrets.tokens.bearer,
      hash: bearerHash,
      session: row.name,
      isVerified: true,
      ...(isImpersonated && { actAs: this.#identityOf(secrets.tokens.claims) }),
      ...this.#subjectOf(secrets.tokens.claims),
      ...ofAccount(accountState.accountOf(row.user)),
    };
  }

  #subjectOf(claims: VerifiedClaims): Pick<Bearer, 'subject'> {
    const subject = this.#options.subjectOf(claims);
    return { ...(subject && { subject }) };
  }

  #identityOf(claims: VerifiedClaims): Identity {
    const identity = this.#identities.get(claims) ?? this.#options.identityOf(claims);
    this.#identities.set(claims, identity);
    return identity;
  }

  /** Renewed when a fifth of their life is left; a request waits for that only when hardly any is. @throws StatusError 401, 503 */
  async #withLivingTokens(session: Session, signal: AbortSignal): Promise<Session> {
    const { renewal, now } = this.#options;
    const { issuedAt, bearerExpiresAt, refreshToken } = session.secrets.tokens;
    const left = bearerExpiresAt - now().getTime() / 1000;
    const life = bearerExpiresAt - issuedAt;
    if (refreshToken === undefined) {
      if (left <= 0) throw sessionEnded();
      return session;
    }
    if (left <= Math.min(10, life / 20)) return renewal.renew(session, signal);
    if (left <= life / 5) renewal.renewAhead(session);
    return session;
  }
}

const ofAccount = (account: Account | undefined) => account && { user: account.name, mustChangePassword: account.mustChangePassword };
