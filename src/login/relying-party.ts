import type { Context } from 'koa';
import type { Authenticator } from '../http/authenticator.ts';
import type { Check } from '../http/health.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { type ClaimRules, identityOf } from '../issuer/claims.ts';
import { Issuer } from '../issuer/issuer.ts';
import { IssuerKeys } from '../issuer/keys.ts';
import { RefusalLog } from '../issuer/refusal-log.ts';
import { TokenVerifier } from '../issuer/token-verifier.ts';
import { IssuerTokens } from '../issuer/tokens.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import type { ReceiveLogout } from '../sessions/backchannel-routes.ts';
import type { SessionHandlers } from '../sessions/routes.ts';
import type { SessionService } from '../sessions/service.ts';
import { createSessionSide, type KeepSession } from '../sessions/session-side.ts';
import { beginLogin } from './begin.ts';
import { Callback } from './callback.ts';
import { finishLogin } from './finish.ts';
import { FlowCookies } from './flow-cookie.ts';
import { Info } from './info.ts';
import type { LoginOptions } from './login.ts';
import type { LoginHandlers } from './routes.ts';
import { type Person, userInfoOf } from './user-info.ts';

export interface RelyingPartyOptions extends LoginOptions {
  issuerURL: string;
  publicURL: string;
  redirectURLs: readonly string[];
  postLogoutRedirectURLs: readonly string[];
  /** Asks the API server. */
  identify: Authenticator['identify'];
  now: () => Date;
  clock: () => number;
}

interface RelyingParty {
  handlers: LoginHandlers & SessionHandlers & { receiveLogout: ReceiveLogout };
  authenticator: Authenticator;
  sessionService: SessionService;
  keepSession: KeepSession;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

/** The parts of login, put together. */
export function createRelyingParty(options: RelyingPartyOptions): RelyingParty {
  const { config, issuerURL, publicURL, redirectURLs, postLogoutRedirectURLs, keyRing, knownBrowsers, accounts, audit, log, now } = options;
  const { login, server, kubernetes, users } = config;
  const { idleDays } = users;
  const isEmbedded = login.issuer === undefined;
  const isImpersonated = (kubernetes.credentials ?? (isEmbedded ? 'impersonate' : 'passthrough')) === 'impersonate';
  const rules: ClaimRules = { issuer: issuerURL, isEmbedded, claims: login.claims, extClaims: login.extClaims };
  const issuerSide = createIssuerSide({ ...options, rules, isForwarded: !isImpersonated });
  const { issuer, verifier } = issuerSide;
  const limit = new RateLimit({ limit: login.perMinute, clock: options.clock, what: 'login requests' });

  const count = async (ctx: Context) => {
    const taken = await knownBrowsers.take(ctx, limit);
    if ('retryAfterSeconds' in taken) limit.refuse(taken);
  };

  const sessionSide = createSessionSide({
    ...options,
    ...issuerSide,
    login,
    idleDays,
    isImpersonated,
    publicURL,
    corsOrigins: server.corsOrigins,
    rules,
    limit,
  });
  const { sessions, seals, revokedTokens } = sessionSide;

  const flows = new FlowCookies({ isSecure: publicURL.startsWith('https:'), seal: keyRing.sealFor('flow'), now });
  const callback = new Callback({
    ...issuerSide,
    flows,
    requireIss: login.requireIss,
    rules,
    revokedTokens,
    accounts,
    recorder: options.recorder,
    identify: isImpersonated ? undefined : options.identify,
    source: { isEmbedded, directories: users.ldap },
    idleDays,
    log,
    now,
  });
  const arrivals = {
    callback,
    sessions,
    seals,
    nameOf: (claims: VerifiedClaims) => identityOf(claims, rules).name,
    absoluteMs: login.session.absolute,
    knownBrowsers,
    audit,
    now,
  };
  const info = new Info({ login: { sessions, verifier, issuer, rules, accounts }, identify: options.identify });
  const shown = (person: Person) => userInfoOf(person, { rules, idleDays, now: now() });

  return {
    handlers: {
      ...sessionSide.handlers,
      async begin(ctx, query) {
        await count(ctx);
        await keyRing.settled();
        return beginLogin(ctx, query, { issuer, flows, login, redirectURLs, postLogoutRedirectURLs, now });
      },
      async finish(ctx, query, signal) {
        await count(ctx);
        return shown(await finishLogin(ctx, query, { ...arrivals, signal }));
      },
      info: async (caller, signal) => shown(await info.of(caller, signal)),
    },
    authenticator: sessionSide.authenticator,
    sessionService: sessionSide.service,
    keepSession: sessionSide.keepSession,
    checks: [{ name: 'identity-provider', critical: false, failure: () => issuer.failure() }, ...sessionSide.checks],
    start: () => sessionSide.start(),
    async stop() {
      await sessionSide.stop();
      await issuer.stop();
    },
  };
}

/** What speaks with the issuer, and judges what it gives. */
function createIssuerSide({
  config: { login },
  issuerURL,
  rules,
  isForwarded,
  metrics,
  log,
  now,
  clock,
}: RelyingPartyOptions & { rules: ClaimRules; isForwarded: boolean }) {
  const { clientID, audiences, idTokenAlgorithm, bearer: credential } = login;
  const refusals = new RefusalLog({ log, issuer: issuerURL, clock });
  const issuer = new Issuer({ ...login, issuer: issuerURL, refusals, clock });
  const keys = new IssuerKeys({ issuer, clock });
  const verifier = new TokenVerifier({ keys, clientID, audiences, idTokenAlgorithm, rules, refusals, metrics, now });
  const issuerTokens = new IssuerTokens({ issuer, verifier, rules, credential, isForwarded, now });
  return { issuer, verifier, issuerTokens };
}
