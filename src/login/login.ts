import type { Logger } from 'pino';
import { badRequest } from '../api/status.ts';
import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import { type Authenticator, tokensOnly } from '../http/authenticator.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Bearer, Operation } from '../http/operation.ts';
import { homeOf, redirectURLsOf } from '../issuer/redirect-urls.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import type { IdentityCache } from '../kubernetes/identity.ts';
import { backchannelOperation, type ReceiveLogout } from '../sessions/backchannel-routes.ts';
import { sessionListOperations } from '../sessions/list-routes.ts';
import { type SessionHandlers, sessionOperations } from '../sessions/routes.ts';
import type { EndAccess } from '../sessions/service.ts';
import type { KeepSession, SessionSideOptions } from '../sessions/session-side.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { LoginRecorder } from '../users/logins/recorder.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { Info } from './info.ts';
import { createRelyingParty } from './relying-party.ts';
import { type LoginHandlers, type LoginOperationsOptions, loginOperations } from './routes.ts';
import { userInfoOf } from './user-info.ts';

export interface LoginOptions {
  config: Config;
  /** The issuer that people log in at; undefined if there is none. */
  issuerURL: string | undefined;
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
  apiServer: ApiServer;
  identities: IdentityCache;
  keyRing: KeyRing;
  accounts: AccountLookup;
  recorder: LoginRecorder;
  knownBrowsers: KnownBrowsers;
  access: AccessReviews;
  /** Ends all sessions and tokens of a user. */
  endAccess: EndAccess;
  /** Told when the holder of a refresh token has given the password again; undefined for an issuer that is not ours. */
  provenAgain?: SessionSideOptions['provenAgain'];
  audit: Audit;
  log: Logger;
  metrics: Metrics;
  /** Of the Session objects. */
  namespace: string;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** The feature: its operations, who is calling, and what it watches. */
export interface Login {
  operations: Operation[];
  authenticator: Authenticator;
  keepSession: KeepSession;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

/** Login at the issuer; without one, or without a public URL to come back to, every token is for the API server to judge. */
export function createLogin(options: LoginOptions): Login {
  const { config, issuerURL, identities, basePath, now = () => new Date(), clock = () => performance.now() } = options;
  const { publicURL } = config.server;
  const { externalURL, tokenStorage } = config.login;
  const home = publicURL === undefined ? [] : [homeOf(publicURL)];
  const { postLogoutRedirectURLs = home } = config.login;
  const redirectURLs = publicURL === undefined ? [] : redirectURLsOf(publicURL, config.login);
  const identify: Authenticator['identify'] = (bearer, signal) => identities.identify(bearer, signal);
  const routes = { allowed: { redirectURLs, tokenStorage }, externalURL, basePath };
  if (issuerURL === undefined || publicURL === undefined) return withoutLogin(routes, { ...options, identify });
  const party = createRelyingParty({ ...options, issuerURL, publicURL, redirectURLs, postLogoutRedirectURLs, identify, now, clock });
  const { handlers, sessionService, ...rest } = party;
  const ofSessions = config.features.sessions ? sessionListOperations(sessionService) : [];
  return { operations: [...operationsOf(config, { ...routes, ...handlers }), ...ofSessions], ...rest };
}

/** All, but for the extensions that are turned off. */
const operationsOf = (
  { features }: Config,
  handlers: LoginOperationsOptions & SessionHandlers & { receiveLogout: ReceiveLogout },
): Operation[] => [
  ...loginOperations(handlers),
  ...sessionOperations(handlers),
  ...(features.backchannelLogout ? [backchannelOperation(handlers.receiveLogout)] : []),
];

function withoutLogin(
  routes: Omit<LoginOperationsOptions, keyof LoginHandlers>,
  { config, identify, now = () => new Date() }: LoginOptions & Pick<Authenticator, 'identify'>,
): Login {
  const unconfigured = async (): Promise<never> => {
    throw badRequest('login is not configured');
  };
  const info = new Info({ identify });
  const handlers = {
    begin: unconfigured,
    finish: unconfigured,
    info: async (caller: Bearer, signal: AbortSignal) =>
      userInfoOf(await info.of(caller, signal), { idleDays: config.users.idleDays, now: now() }),
    refresh: unconfigured,
    logout: unconfigured,
    receiveLogout: unconfigured,
  };
  return {
    operations: operationsOf(config, { ...routes, ...handlers }),
    authenticator: tokensOnly(identify),
    async keepSession() {},
    checks: [],
    start() {},
    async stop() {},
  };
}
