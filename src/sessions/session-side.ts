import type { Context } from 'koa';
import type { Logger } from 'pino';
import { Lister } from '../collection/lister.ts';
import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Bearer } from '../http/operation.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { type ClaimRules, identityOf, loginOf, subjectOf } from '../issuer/claims.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { TokenVerifier } from '../issuer/token-verifier.ts';
import type { IssuerTokens } from '../issuer/tokens.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { Sweeper } from '../kubernetes/sweeper.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { AccountState } from './account-state.ts';
import { LoginAuthenticator } from './authenticator.ts';
import { BackchannelLogout } from './backchannel-logout.ts';
import type { ReceiveLogout } from './backchannel-routes.ts';
import { SessionBound } from './bound.ts';
import { sessionCookie } from './cookie.ts';
import { crossSiteRule } from './cross-site.ts';
import { IssuerFarewell } from './issuer-logout.ts';
import { IssuerRevocation } from './issuer-revocation.ts';
import { sessionProperties } from './list.ts';
import { LoginEnds } from './login-ends.ts';
import { successorOf } from './login-facts.ts';
import { Logout } from './logout.ts';
import { sessionApiVersion } from './record.ts';
import { Refresh } from './refresh.ts';
import { LocalRenewal } from './refresh-local.ts';
import { RefreshSeals } from './refresh-seal.ts';
import { SessionRenewal } from './renewal.ts';
import { RenewedLogins } from './renewed-logins.ts';
import { RevokedTokens } from './revoked-tokens.ts';
import type { SessionHandlers } from './routes.ts';
import { type EndAccess, SessionService } from './service.ts';
import { Sessions } from './sessions.ts';
import { SessionStore } from './store.ts';
import { sessionSweep } from './sweep.ts';

const discardMs = 3_000;

export interface SessionSideOptions {
  apiServer: ApiServer;
  access: AccessReviews;
  /** Of the Session objects. */
  namespace: string;
  keyRing: Pick<KeyRing, 'sealFor' | 'settled'>;
  endAccess: EndAccess;
  login: Config['login'];
  /** `users.idleDays` */
  idleDays: number;
  /** Whether `kubernetes.credentials` is `impersonate`. */
  isImpersonated: boolean;
  publicURL: string;
  /** `server.corsOrigins` */
  corsOrigins: readonly string[];
  postLogoutRedirectURLs: readonly string[];
  issuer: Issuer;
  issuerTokens: IssuerTokens;
  verifier: TokenVerifier;
  rules: ClaimRules;
  accounts: AccountLookup;
  /** Asks the API server whose a token is. */
  identify: Authenticator['identify'];
  /** Shared with login, callback and redirect. */
  limit: RateLimit;
  /** Told when the holder of a refresh token has given the password again; undefined for an issuer that is not ours. */
  provenAgain?: ((ctx: Context, refreshToken: string) => Promise<void>) | undefined;
  audit: Audit;
  log: Logger;
  metrics: Metrics;
  now: () => Date;
  /** Milliseconds that only ever grow. */
  clock: () => number;
}

/** What comes after a login: sessions, what counts as a credential, renewal and logout. */
export interface SessionSide {
  sessions: Sessions;
  seals: RefreshSeals;
  revokedTokens: RevokedTokens;
  authenticator: Authenticator;
  handlers: SessionHandlers & { receiveLogout: ReceiveLogout };
  service: SessionService;
  keepSession: KeepSession;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

/** Gives a session that has just ended with a change of one's own password a successor: same tokens, new secret. Never throws. */
export type KeepSession = (ctx: Context, caller: Bearer, signal: AbortSignal) => Promise<void>;

export function createSessionSide(sideOptions: SessionSideOptions): SessionSide {
  const { login, issuer, issuerTokens, verifier, rules, log, keyRing } = sideOptions;
  const options = { ...sideOptions, client: sideOptions.apiServer.asService, seal: keyRing.sealFor('session') };
  const { protocol, origin } = new URL(options.publicURL);
  const cookie = sessionCookie({ isSecure: protocol === 'https:' });
  const crossSite = crossSiteRule(origin, options.corsOrigins);
  const store = new SessionStore(options);
  const sessions = new Sessions({
    ...options,
    store,
    cookie,
    times: login.session,
    whenBegun: (ctx, row, signal) => bound.keep(ctx, row, signal),
  });
  const revokedTokens = new RevokedTokens(options);
  const accountState = new AccountState({ ...options, revokedTokens, sessions: store.cache });
  const discard = discarding(issuer, log);
  // Of another issuer or client it opens nothing: whose login it is would not be known.
  const refreshSeal = keyRing.sealFor(JSON.stringify(['refresh token', issuer.identifier, login.clientID]));
  const seals = new RefreshSeals({ ...options, seal: refreshSeal, discard });
  const endToken = (refreshToken: string, signal: AbortSignal) => issuer.revoke(refreshToken, 'refresh_token', signal);
  const farewell = new IssuerFarewell({
    ...options,
    endToken,
    endSessionURL: async (parameters) => (await issuer.endSessionURL(parameters)) ?? login.logoutURL,
  });
  const revocation = new IssuerRevocation({ sessions, farewell, log });
  const bound = new SessionBound({ ...options, store, revocation, maxPerUser: login.session.maxPerUser });
  const sweeper = new Sweeper(options, sessionSweep(store, revokedTokens, options.now));

  const shared = {
    ...options,
    sessions,
    revokedTokens,
    accountState,
    cookie,
    crossSite,
    seals,
    isLocalOffered: login.tokenStorage.includes('local'),
    discard,
    verify: (token: string) => verifier.bearer(token),
    identityOf: (claims: VerifiedClaims) => identityOf(claims, rules),
    subjectOf: (claims: VerifiedClaims) => subjectOf(claims, rules),
    loginOf: (claims: VerifiedClaims) => loginOf(claims, rules),
  };
  const renewedLogins = new RenewedLogins(shared);
  const renewal = new SessionRenewal({
    ...shared,
    store,
    renewedLogins,
    exchange: (tokens, signal) => issuerTokens.refresh(tokens, signal),
    refusal: (session) => accountState.refusalOfSession(session),
  });
  const local = new LocalRenewal({
    ...shared,
    renewedLogins,
    exchange: (refreshToken, owner, signal) => issuerTokens.renew(refreshToken, owner, signal),
  });
  const refresh = new Refresh({ ...shared, renewal, local });
  const logout = new Logout({
    ...shared,
    ends: new LoginEnds(shared),
    farewell,
    isIdToken: (token) => isIdToken(verifier, token),
  });

  const lister = new Lister({
    ...options,
    cache: store.cache,
    name: 'sessions',
    properties: sessionProperties,
    apiVersion: sessionApiVersion,
    listKind: 'SessionList',
    seal: keyRing.sealFor('continue'),
    keysSettled: () => keyRing.settled(),
  });
  const service = new SessionService({ ...shared, store, lister, revocation });
  const backchannelLogout = new BackchannelLogout({
    ...shared,
    store,
    verify: (token) => verifier.logoutToken(token),
    // Its own: made-up logout tokens keep no user at the same address from logging in.
    refusals: new RateLimit({ limit: login.perMinute, clock: options.clock, what: 'login requests' }),
    absoluteMs: login.session.absolute,
  });

  return {
    sessions,
    seals,
    revokedTokens,
    service,
    authenticator: new LoginAuthenticator({ ...shared, renewal }),
    handlers: {
      refresh: (ctx, refreshToken, signal) => refresh.answer(ctx, refreshToken, signal),
      logout: (ctx, refreshToken, signal) => logout.answer(ctx, refreshToken, signal),
      receiveLogout: (ctx, token, signal) => backchannelLogout.receive(ctx, token, signal),
    },
    async keepSession(ctx, { session: name }, signal) {
      if (name === undefined) return;
      try {
        const session = await sessions.current(name);
        if (session === undefined) return;
        const { tokens } = session.secrets;
        const login = successorOf(session.secrets.login, { now: options.now(), absoluteMs: options.login.session.absolute });
        if (tokens.refreshToken !== undefined) await options.provenAgain?.(ctx, tokens.refreshToken);
        await sessions.create(ctx, { tokens, login }, signal);
      } catch (error) {
        log.warn({ err: error }, 'the session of a user who changed their password could not be kept');
      }
    },
    checks: [
      { name: 'sessions', critical: false, isAwaited: true, failure: () => store.failure() },
      { name: 'revoked-tokens', critical: false, isAwaited: true, failure: () => revokedTokens.failure() },
    ],
    start() {
      store.start();
      revokedTokens.start();
      sweeper.start();
    },
    async stop() {
      await sweeper.stop();
      await farewell.stop();
      await renewal.stop();
      await Promise.all([store.stop(), revokedTokens.stop()]);
    },
  };
}

/** Ends tokens that were not handed out, as far as the issuer can be reached. */
const discarding = (issuer: Issuer, log: Logger) => async (refreshToken: string) => {
  try {
    await issuer.revoke(refreshToken, 'refresh_token', AbortSignal.timeout(discardMs));
  } catch (error) {
    log.warn({ err: error }, 'tokens that were not handed out could not be revoked');
  }
};

async function isIdToken(verifier: TokenVerifier, token: string): Promise<boolean> {
  try {
    await verifier.idToken(token, {});
    return true;
  } catch {
    return false;
  }
}
