/**
 * The embedded OpenID provider: issuer, login page and records for users with a password here. `oidc-provider` implements the protocol;
 * this folder implements its storage, its pages, and the access to passwords and accounts. Relying parties, the console included, know only
 * its URL.
 */
import { CookieFamily } from '@atrium/http/cookies/cookies.ts';
import type { Check } from '@atrium/http/health.ts';
import { type RateExceeded, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { type Network, publicNetwork } from '@atrium/http/outgoing.ts';
import type { Seal } from '@atrium/http/seal.ts';
import { hasViewHeaders, viewHeadersRefused } from '@atrium/http/view-headers.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { StatusError, unknownPath } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context, Middleware } from 'koa';
import { embeddedLoginOf } from '../config/issuers.ts';
import { mcpResourceOf } from '../config/mcp-resource.ts';
import { directDigest } from '../config/mcp-section.ts';
import type { SecondFactors } from '../factors/second-factors.ts';
import type { OneTimeLinks } from '../one-time-links/links.ts';
import { type LinkMail, mailsForgotten } from '../one-time-links/mails.ts';
import type { Services } from '../services.ts';
import type { Translations } from '../texts/texts.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import type { PasswordCheck } from '../users/passwords/check.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { accountFinder, claimsOfSubject } from './account.ts';
import { adapterFor, BrowserRecords, unavailable } from './adapter.ts';
import { type AgentParts, openAgentToken } from './agents.ts';
import { Challenges } from './challenges.ts';
import { ClientDocuments } from './client-documents.ts';
import { LogoutRequests } from './clients.ts';
import { CurrentProvider, useConfiguredOrigin, useProviderCookies } from './current-provider.ts';
import type { GrantSessions } from './grant-sessions.ts';
import { answerLoginPage } from './login-page.ts';
import { errors } from './oidc-provider.ts';
import { answerForgottenPage, answerLinkPage, type ForgottenPageParts, type LinkPageParts } from './one-time-link.ts';
import { type Look, languageChoice } from './page.ts';
import { type ProviderCookies, type ProviderParts, providerCookies } from './provider.ts';
import { RecordIds } from './record-ids.ts';
import { hashed, IdentityRecords } from './records.ts';
import { inRequestScope, RequestLimit, requestScope } from './request-scope.ts';
import type { LoginPageParts } from './steps.ts';
import { recordSweep } from './sweep.ts';
import { createViews, type Views } from './views.ts';
import { LoginProgress, type PasskeyParts } from './visit.ts';

interface IdentityNeeds {
  /** `https://console.example.com/identity`: the `iss` claim, and the prefix of all addresses here. */
  issuerURL: string;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  passwordCheck: Pick<PasswordCheck, 'check'>;
  knownBrowsers: KnownBrowsers;
  passwordChange: Pick<PasswordChange, 'change'>;
  notices: Pick<Notices, 'remove'>;
  /** Undefined if second factors are turned off. */
  factors: SecondFactors | undefined;
  /** Undefined if one-time links are turned off. */
  links: OneTimeLinks | undefined;
  passkeys: Omit<PasskeyParts, 'challenges'> | undefined;
  linkMail: LinkMail | undefined;
  /** Sessions of agents. Undefined if the MCP door is off. */
  agents?: GrantSessions | undefined;
  /** Network of the hosts that describe agents. Default: public addresses. */
  network?: Network | undefined;
  translations: Translations;
  /** Title, logo and colours of the installation, if it defines them. */
  brand?: () => Look['brand'];
}

export interface Identity {
  readonly prefix: string;
  /** Answers every request below the prefix. */
  middleware: Middleware;
  /**
   * Records that the holder of a refresh token has just given the password again: renewed tokens are as recent as a new login.
   *
   * @throws StatusError 503, 504
   */
  markReauthenticated(ctx: Context, refreshToken: string): Promise<void>;
  /**
   * Opens an access token of an agent, whose session may have ended.
   *
   * @returns the claims of the person, the client id, and the SHA-256 of the id of the grant; undefined for any other text
   * @throws StatusError 503
   */
  openAgentToken(token: string): Promise<{ claims: VerifiedClaims; client: string; grant: string } | undefined>;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

const prefix = '/identity';
/** Limit of record cookies in a browser. A proxy accepts 8 KiB for all cookies, including the flows of the relying party. */
const maxRecordBytes = 4 * 1024;
const loginPath = /^\/identity\/login\/([\w-]{1,64})$/;
const forgottenPath = '/identity/forgotten';
const linkPath = /^\/identity\/link\/([\w.-]{1,2048})$/;

/** Lifetime of a device code, so that the rates below limit the number of valid codes. */
const deviceWindowMs = 10 * 60_000;
const deviceCodesPerSource = 30;
const deviceCodesInAll = 1000;
const userCodeGuesses = 30;

export function createIdentity(services: Services, needs: IdentityNeeds): Identity {
  const { client, namespace, now } = services;
  const place = placeOf(services, needs.issuerURL);
  const views = viewsOf(services, needs, place);
  const storage = createStorage(services, needs);
  const { records } = storage;
  const { keeper, cookieNames, logoutRequests, documents } = createKeeper(services, { ...needs, place, views, storage });
  const pages = {
    keeper,
    cookieNames,
    limit: new RequestLimit(services, needs.knownBrowsers),
    ...formPagesOf(services, needs, { place, views }),
  };
  const sweeper = new Sweeper(services, recordSweep({ client, namespace, now }));
  return {
    prefix,
    middleware: (ctx) => inRequestScope(ctx, now, () => answer(ctx, pages)),
    markReauthenticated: (ctx, refreshToken) =>
      inRequestScope(ctx, now, async () => {
        const found = await records.find('RefreshToken', refreshToken);
        const seconds = Math.floor(now().getTime() / 1000);
        if (found?.exp !== undefined) await records.save('RefreshToken', refreshToken, { ...found, iiat: seconds }, found.exp - seconds);
      }),
    async openAgentToken(token) {
      const resource = mcpResourceOf(services.config);
      const opened = resource === undefined ? undefined : await openAgentToken(storage.accessTokens, resource, token, now());
      if (opened === undefined) return undefined;
      const { accountId, iat, exp, client: id, grant } = opened;
      const claims = claimsOfSubject(needs, accountId);
      return claims && { claims: { ...claims, iss: needs.issuerURL, iat, exp }, client: id, grant };
    },
    checks: [{ name: 'identity', critical: false, isAwaited: true, failure: () => keeper.failure() }],
    start() {
      keeper.start();
      sweeper.start();
    },
    async stop() {
      keeper.stop();
      await sweeper.stop();
      await logoutRequests.stop();
      await documents?.stop();
    },
  };
}

/** Addresses of the provider. */
interface Place {
  issuerURL: string;
  /** Origin of the issuer. */
  origin: string;
  /** Address of the console, without a slash at the end. */
  publicURL: string;
  /** Path of the issuer on this host. */
  path: string;
}

const placeOf = ({ basePath }: Services, issuerURL: string): Place => ({
  issuerURL,
  origin: new URL(issuerURL).origin,
  publicURL: issuerURL.slice(0, -prefix.length),
  path: `${basePath}${prefix}`,
});

const viewsOf = ({ config, basePath }: Services, needs: IdentityNeeds, { publicURL }: Place): Views =>
  createViews({
    look() {
      const { loginPage } = config.identity;
      const brand = needs.brand?.() ?? { accent: {} };
      const logo = brand.logo ?? loginPage.logo;
      return { title: brand.title ?? loginPage.title, logo: logo && `${basePath}${logo}`, brand };
    },
    consoleURL: `${publicURL}/`,
    choose: languageChoice(needs.translations),
  });

const deviceLimit = (limit: number) => new RateLimit({ limit, windowMs: deviceWindowMs });

type Storage = Pick<ProviderParts, 'adapter' | 'makeID' | 'sealAccessToken'> & { records: IdentityRecords; accessTokens: Seal };

/** Creates the storage of the provider: records in the cluster and in browsers, and access tokens that hold their own. */
function createStorage(services: Services, { knownBrowsers, agents }: Pick<IdentityNeeds, 'knownBrowsers' | 'agents'>): Storage {
  const { config, cookies, client, namespace, keyRing, log, now } = services;
  const onGrantEnded = agents && ((grant: string) => agents.end(grant, requestScope().signal));
  const records = new IdentityRecords({ client, namespace, seal: keyRing.sealFor('identity'), now, onGrantEnded });
  const accessTokens = keyRing.sealFor('identity access tokens');
  const ids = new RecordIds(keyRing.sealFor('identity record ids'));
  const adapter = adapterFor({
    records,
    ids,
    browser: new BrowserRecords({
      seal: keyRing.sealFor('identity cookies'),
      cookies: new CookieFamily(cookies, { purpose: 'identity_record', maxBytes: maxRecordBytes }),
    }),
    accessTokens,
    async bound(model, payload) {
      try {
        await records.endOldest(model, payload, config.login.session.maxPerUser);
      } catch (error) {
        log.warn({ err: error, model }, 'oldest logins of a user could not be ended at the embedded issuer');
      }
    },
    now,
    userCodeGuesses: deviceLimit(userCodeGuesses),
    knownBrowsers,
    agents,
  });
  return {
    records,
    accessTokens,
    adapter,
    makeID: ({ model, grantId, remainingSeconds }) =>
      ids.make({
        model,
        grant: grantId === undefined ? '' : hashed(grantId),
        exp: Math.floor(now().getTime() / 1000) + remainingSeconds,
      }),
    sealAccessToken: (payload) => accessTokens.seal(JSON.stringify(payload)),
  };
}

interface ProviderNeeds extends Pick<IdentityNeeds, 'accounts' | 'localGroups' | 'agents' | 'network'> {
  place: Place;
  views: Views;
  storage: Storage;
}

/** Creates the keeper of the provider, and the client that tells relying parties of logouts. */
function createKeeper(services: Services, needs: ProviderNeeds) {
  const { accounts, localGroups, place, views, storage } = needs;
  const { config, cookies, keyRing, log, now } = services;
  const { idleDays, ldap } = config.users;
  const login = embeddedLoginOf(config);
  const consoleClientID = login.clientID;
  const directories = new Set(ldap.map(({ id }) => id));
  const cookieNames = providerCookies(cookies);
  // The console may be among the notified relying parties, and has the certificate of the issuer.
  const logoutRequests = new LogoutRequests({ caFile: login.caFile });
  const { documents, agents } = agentsOf(services, needs) ?? {};
  const keeper = new CurrentProvider({
    keyRing,
    log,
    config,
    publicURL: place.publicURL,
    prefix,
    around: useConfiguredOrigin(views, place.path, place.issuerURL),
    parts: {
      ...place,
      ...storage,
      cookieNames,
      consoleClientID,
      isFrontChannel: login.responseMode === 'id_token',
      findAccount: accountFinder({ accounts, localGroups, idleDays, directories, consoleClientID, now }),
      views,
      deviceCodes: { perSource: deviceLimit(deviceCodesPerSource), inAll: deviceLimit(deviceCodesInAll) },
      backchannelLogout: config.features.backchannelLogout,
      // The library fetches documents of clients by GET, and logs out by POST.
      fetch: (url, init) =>
        documents !== undefined && init?.method === 'GET' ? documents.answer(String(url)) : logoutRequests.fetch(url, init),
      agents,
      now,
    },
  });
  return { keeper, cookieNames, logoutRequests, documents };
}

/** Returns what agents need: undefined if the MCP door is off. */
function agentsOf({ config, clock }: Services, { agents, network = publicNetwork }: ProviderNeeds) {
  const resource = mcpResourceOf(config);
  if (agents === undefined || resource === undefined) return undefined;
  const { identity, login } = config;
  const documents = new ClientDocuments({ caFile: embeddedLoginOf(config).caFile, network, clock });
  const parts: AgentParts = {
    resource,
    clients: new Set(identity.clients.map(({ id }) => id)),
    sessions: agents,
    direct: directDigest(config.mcp.direct),
    lifetimeSeconds: Math.floor((identity.refreshTokenTTL ?? login.session.absolute) / 1000),
    documents: {
      enabled: true,
      ack: 'draft-02',
      allowFetch: async (_ctx, id) => documents.mayFetch(id),
      cacheDuration: { min: 60, max: 3600 },
    },
  };
  return { documents, agents: parts };
}

/** Returns what the pages with our own forms depend on. */
function formPagesOf(
  services: Services,
  needs: IdentityNeeds,
  { place, views }: Pick<ProviderNeeds, 'place' | 'views'>,
): Pick<Pages, 'logIn' | 'linkPages'> {
  const { config, keyRing, now } = services;
  const { links, linkMail } = needs;
  const { failures, window, duration } = config.users.lockout;
  const { origin } = place;
  const forgottenURL = linkMail && mailsForgotten(config) ? `${place.publicURL}${forgottenPath}` : undefined;
  const logIn: LoginPageParts = {
    ...needs,
    forgottenURL,
    services,
    views,
    origin,
    consoleClientID: embeddedLoginOf(config).clientID,
    progress: new LoginProgress(keyRing.sealFor('identity login progress'), now),
    passkeys: needs.passkeys?.passkeys.relyingParty && {
      ...needs.passkeys,
      challenges: new Challenges(keyRing.sealFor('identity passkey challenges'), now),
    },
    lock: { failures, windowSeconds: window / 1000, durationSeconds: duration / 1000 },
  };
  const linkPages = links && {
    link: { services, views, links, forgottenURL, origin, logIn },
    forgotten: { views, linkMail: forgottenURL === undefined ? undefined : linkMail, origin },
  };
  return { logIn, linkPages };
}

interface Pages {
  limit: RequestLimit;
  keeper: CurrentProvider;
  cookieNames: ProviderCookies;
  logIn: LoginPageParts;
  /** Undefined if one-time links are turned off. */
  linkPages: { link: LinkPageParts; forgotten: ForgottenPageParts } | undefined;
}

async function answer(ctx: Context, pages: Pages): Promise<void> {
  ctx.state.operationId = 'identity';
  if (hasViewHeaders(ctx.req)) throw viewHeadersRefused();
  const path = ctx.path.slice(prefix.length);
  const exceeded = await pages.limit.count(ctx, path);
  if (exceeded !== undefined) return refuse(ctx, pages.logIn.views, exceeded);
  await answerCounted(ctx, pages);
  pages.limit.countUnproven(ctx, path);
}

async function answerCounted(ctx: Context, { keeper, cookieNames, logIn, linkPages }: Pages): Promise<void> {
  const state = ctx.state;
  const [, token] = linkPath.exec(ctx.path) ?? [];
  if (linkPages !== undefined && token !== undefined) {
    state.operationId = 'identity link';
    await showFailureOnError(ctx, logIn.views, () => answerLinkPage(linkPages.link, ctx, token));
    return;
  }
  if (linkPages !== undefined && ctx.path === forgottenPath) {
    state.operationId = 'identity forgotten';
    await showFailureOnError(ctx, logIn.views, () => answerForgottenPage(linkPages.forgotten, ctx));
    return;
  }
  const { provider, middleware } = await keeper.get();
  useProviderCookies(ctx, provider, cookieNames);
  const [, uid] = loginPath.exec(ctx.path) ?? [];
  if (uid === undefined) {
    await middleware(ctx, () => {
      throw unknownPath();
    });
    return;
  }
  state.operationId = 'identity log_in';
  await showFailureOnError(ctx, logIn.views, () => answerLoginPage(logIn, ctx, provider, uid));
}

function refuse(ctx: Context, views: Views, { retryAfterSeconds }: RateExceeded): void {
  ctx.status = 429;
  ctx.set('Retry-After', String(retryAfterSeconds));
  const failure = new errors.InvalidRequest('too many requests', 429);
  views.failure(ctx, failure, failure);
}

async function showFailureOnError(ctx: Context, views: Views, answering: () => Promise<void>): Promise<void> {
  try {
    await answering();
  } catch (error) {
    const failure = error instanceof StatusError && error.status.code >= 500 ? unavailable(error) : error;
    if (!(failure instanceof errors.OIDCProviderError)) throw error;
    ctx.status = failure.statusCode;
    views.failure(ctx, failure, failure);
  }
}
