/**
 * Sessions after a login: authentication, renewal, and logout here or at the issuer (docs/contract/login.md).
 */
import { type Authenticator, tokensOnly } from '@atrium/http/authenticator.ts';
import type { Bearer } from '@atrium/http/caller.ts';
import { hostCookie } from '@atrium/http/cookies/cookies.ts';
import type { Check } from '@atrium/http/health.ts';
import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import type { Context } from 'koa';
import { followedLists } from '../collection/followed-lists.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { EndAccess } from '../revocation/end-access.ts';
import type { RevokedTokens } from '../revocation/revoked-tokens.ts';
import type { Services } from '../services.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { AccountState } from './account-state.ts';
import { AgentSessions } from './agent-sessions.ts';
import { LoginAuthenticator } from './authenticator.ts';
import { receiveLogout } from './backchannel-logout.ts';
import { BrowserSessions, type Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import { crossSiteRule } from './cross-site.ts';
import { sessionDefinition } from './definition.ts';
import { IssuerLogout } from './issuer-logout.ts';
import { successorOf } from './login-facts.ts';
import { logout } from './logout.ts';
import { beginSession } from './max-sessions.ts';
import { tokenRefresh } from './refresh.ts';
import { SessionRenewal } from './renewal.ts';
import { backchannelOperation, sessionEndOperations, sessionOperations } from './routes.ts';
import { SealedRefreshTokens } from './sealed-refresh-tokens.ts';
import { collectedSessions, SessionStore, sessionSweep } from './store.ts';
import { refuseUnconfigured, unconfigured } from './unconfigured.ts';

/** The feature. Without an issuer, the API server verifies all tokens. */
export interface SessionsFeature {
  operations: Operation[];
  authenticator: Authenticator;
  keepSession: KeepSession;
  /** Context for login; undefined without an issuer. */
  context: SessionContext | undefined;
  /** Undefined without an issuer. */
  agents: AgentSessions | undefined;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

/**
 * Creates a successor of a session that has just ended because the user changed the password: same tokens, new secret. Never throws, and
 * returns undefined after a failure.
 */
type KeepSession = (ctx: Context, caller: Pick<Bearer, 'session'>, signal: AbortSignal) => Promise<Session | undefined>;

/** Receives the refresh token of a user who has entered the password again. */
type MarkReauthenticated = (ctx: Context, refreshToken: string) => Promise<void>;

interface SessionNeeds {
  issuers: Issuers;
  /** `server.publicURL` */
  publicURL: string;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  /** Asks the API server for the owner of a token. */
  identify: Authenticator['identify'];
  revokedTokens: RevokedTokens;
  endAccess: EndAccess;
  /** Undefined without the embedded issuer. */
  markReauthenticated: MarkReauthenticated | undefined;
  /** Checks the credential of a live list again. */
  again: WhileAllowedOptions['again'];
}

export function createSessions(services: Services, { markReauthenticated, again, ...needs }: SessionNeeds): SessionsFeature {
  const { config } = services;
  const context = contextOf(services, needs);
  const { store, revokedTokens, farewell } = context;
  const renewal = new SessionRenewal(context);
  // A separate limit: made-up logout tokens must not block logins from the same address.
  const refusals = loginLimit(services);
  const sweeper = new Sweeper(services, sessionSweep(store, revokedTokens, services.now));
  return {
    operations: [
      ...sessionOperations({
        refresh: tokenRefresh(context, renewal),
        logout: (ctx, given) => logout(context, ctx, given),
      }),
      ...(config.features.backchannelLogout
        ? [backchannelOperation((ctx, token, signal) => receiveLogout(context, refusals, ctx, token, signal))]
        : []),
      ...(config.features.sessions ? listOperations(context, again) : []),
    ],
    authenticator: new LoginAuthenticator(context, renewal),
    keepSession: (ctx, { session }, signal) => keepSession(context, markReauthenticated, { ctx, name: session, signal }),
    context,
    agents: new AgentSessions(context),
    checks: [
      store.collection.check,
      { name: 'revoked-tokens', critical: false, isAwaited: true, failure: () => revokedTokens.watch.missing() },
    ],
    start() {
      store.start();
      revokedTokens.watch.start();
      sweeper.start();
    },
    async stop() {
      await sweeper.stop();
      await farewell.stop();
      await renewal.stop();
      await Promise.all([store.stop(), revokedTokens.watch.stop()]);
    },
  };
}

/** Creates the feature without login. */
export function withoutSessions(services: Services, identify: Authenticator['identify']): SessionsFeature {
  const { config } = services;
  const refuse = async () => refuseUnconfigured();
  return {
    operations: [
      ...sessionOperations({ refresh: refuse, logout: refuse }),
      ...(config.features.backchannelLogout ? [backchannelOperation(refuse)] : []),
    ].map(unconfigured),
    authenticator: tokensOnly(identify),
    keepSession: async () => undefined,
    context: undefined,
    agents: undefined,
    checks: [],
    start() {},
    async stop() {},
  };
}

function contextOf(services: Services, needs: Omit<SessionNeeds, 'markReauthenticated' | 'again'>): SessionContext {
  const { issuers, publicURL, accounts, localGroups, identify, revokedTokens, endAccess } = needs;
  const { config, log } = services;
  const { origin } = new URL(publicURL);
  const cookie = hostCookie(services.cookies, { purpose: 'session' });
  const store = new SessionStore(services);
  const sessions = new BrowserSessions(services, { store, cookie, issuers });
  return {
    ...services,
    issuers,
    accounts,
    identify,
    limit: loginLimit(services),
    cookie,
    crossSite: crossSiteRule(origin, config.server.corsOrigins),
    store,
    sessions,
    revokedTokens,
    endAccess,
    accountState: new AccountState(services, issuers, { accounts, localGroups, revokedTokens, sessions: store.collection.cache }),
    seals: new SealedRefreshTokens(services, issuers),
    farewell: new IssuerLogout(log, { issuers, publicURL, sessions }),
  };
}

function listOperations(context: SessionContext, again: WhileAllowedOptions['again']): Operation[] {
  const { collection } = context.store;
  const live = followedLists(context, collection, collectedSessions, again);
  return [...standardOperations(context, collection, sessionDefinition(context), live), ...sessionEndOperations(context)];
}

const loginLimit = ({ config, clock }: Services) => new RateLimit({ limit: config.login.perMinute, clock, what: 'login requests' });

async function keepSession(
  context: SessionContext,
  markReauthenticated: MarkReauthenticated | undefined,
  { ctx, name, signal }: { ctx: Context; name: string | undefined; signal: AbortSignal },
): Promise<Session | undefined> {
  if (name === undefined) return undefined;
  const { sessions, config, now, log } = context;
  try {
    const session = await sessions.current(name);
    if (session === undefined) return undefined;
    const { verified } = session;
    const { tokens } = session.secrets;
    const login = successorOf(session.secrets.login, { now: now(), absoluteMs: config.login.session.absolute });
    if (tokens.refreshToken !== undefined && verified?.isEmbedded) await markReauthenticated?.(ctx, tokens.refreshToken);
    return await beginSession(context, ctx, { tokens, login, verified }, signal);
  } catch (error) {
    log.warn({ err: error }, 'current session could not be preserved while ending all sessions');
    return undefined;
  }
}
