import type { CookieNames } from '@atrium/http/cookies/cookies.ts';
import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { AdapterFactory, ClientMetadata, Configuration, FindAccount, KoaContextWithOIDC } from 'oidc-provider';
import { z } from 'zod';
import { acrValues } from '../factors/second-factors.ts';
import type { SigningKeys } from '../keys/key-ring.ts';
import { hasAcr } from '../step-up/step-up.ts';
import { type AgentParts, agentGrant, isPermitted, requestedResource, resourceIndicators } from './agents.ts';
import { errors, interactionPolicy, Provider } from './oidc-provider.ts';
import { type PresentedModel, presentedModels } from './record-ids.ts';
import { devicePages, endSessionPages, type Views } from './views.ts';

const authorizationCodeSeconds = 60;
const deviceCodeSeconds = 10 * 60;
/** Limit of the parameters in characters, because the record of a device code stores them. */
const maxDeviceRequest = 4096;
/** Lifetime of an interaction, equal to that of a flow at our own relying party. */
const interactionSeconds = 10 * 60;

interface Lifetimes {
  accessToken: number;
  idToken: number;
  refreshToken: number;
  session: number;
}

export interface ProviderParts {
  issuerURL: string;
  cookieNames: ProviderCookies;
  /** Path of the issuer, as browsers see it. */
  path: string;
  signingKeys: SigningKeys;
  cookieKeys: readonly string[];
  clients: readonly ClientMetadata[];
  /** Client whose logins end separately. */
  consoleClientID: string;
  /** Seconds. */
  lifetimes: Lifetimes;
  isFrontChannel: boolean;
  adapter: AdapterFactory;
  /** Generates codes and refresh tokens. */
  makeID: (issued: { model: PresentedModel; grantId: string | undefined; remainingSeconds: number }) => string;
  /** Generates access tokens, which are not stored. */
  sealAccessToken: (payload: unknown) => string;
  findAccount: FindAccount;
  views: Views;
  /** Limits device authorizations, which are stored before a user has logged in. */
  deviceCodes: { perSource: RateLimit; inAll: RateLimit };
  /** Undefined if the MCP door is off. */
  agents: AgentParts | undefined;
  /** Notifies relying parties of logouts here, by `fetch`. */
  backchannelLogout: boolean;
  fetch: NonNullable<Configuration['fetch']>;
  now: () => Date;
}

/** Creates the OpenID provider from its settings, storage and pages. */
export function createProvider(parts: ProviderParts): Provider {
  const { issuerURL, path, cookieNames, signingKeys, cookieKeys, clients, adapter, findAccount, views } = parts;
  const isSecure = issuerURL.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true } as const;
  const provider = new Provider(issuerURL, {
    adapter,
    findAccount,
    clients: [...clients],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientBasedCORS: (_ctx, origin, { redirectUris = [] }) => redirectUris.some((uri) => URL.parse(uri)?.origin === origin),
    jwks: { keys: signingKeys.map((key) => ({ ...key })) },
    cookies: {
      keys: [...cookieKeys],
      names: cookieNames,
      long: { ...cookie, path: '/' },
      // Each cookie has the path of its interaction, whose record is in a cookie that no other host can set.
      short: cookie,
    },
    scopes: ['openid', 'offline_access', 'profile', 'email', 'groups'],
    acrValues: [...acrValues],
    claims: { openid: ['sub', 'federated_claims', 'auth_time', 'acr', 'amr'], profile: ['name'], email: ['email'], groups: ['groups'] },
    // Kubernetes reads groups and email from the ID token and calls no other endpoint.
    conformIdTokenClaims: false,
    responseTypes: parts.isFrontChannel ? ['code', 'id_token', 'code id_token'] : ['code'],
    pkce: { required: () => true },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    ttl: lifetimesOf(parts),
    extraParams: ['factor'],
    interactions: { policy: policy(parts.agents !== undefined), url: (_ctx, { uid }) => `${path}/login/${uid}` },
    loadExistingGrant: (ctx) => grantOf(ctx, parts),
    extraTokenClaims: () => undefined,
    // Access tokens are not stored, so revoking one ends its grant, whose refresh tokens end with it.
    revokeGrantPolicy: () => true,
    renderError: (ctx, out, error) => views.failure(ctx, out, error),
    discovery: { ui_locales_supported: ['en', 'de', 'zh'] },
    fetch: parts.fetch,
    features: {
      backchannelLogout: { enabled: parts.backchannelLogout },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: parts.agents ? resourceIndicators(parts.agents) : { enabled: false },
      ...(parts.agents && { clientIdMetadataDocument: parts.agents.documents }),
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      rpInitiatedLogout: endSessionPages(views),
      deviceFlow: { ...devicePages(views, parts), enabled: true, deviceInfo: (ctx) => admitDevice(ctx, parts.deviceCodes) },
    },
  });
  for (const model of presentedModels)
    override(provider[model].prototype, 'generateTokenId', (token, own) => {
      // The method of the library also sets the format of the token.
      own();
      const { grantId, remainingTTL } = issuedToken.parse(token);
      return parts.makeID({ model, grantId, remainingSeconds: remainingTTL });
    });
  override(provider.AccessToken.prototype, 'getValueAndPayload', async (_token, own) => {
    const { payload } = storedToken.parse(await own());
    return { value: parts.sealAccessToken(payload) };
  });
  return provider;
}

const issuedToken = z.object({ grantId: z.string().optional(), remainingTTL: z.number() });
const storedToken = z.object({ payload: z.record(z.string(), z.unknown()) });

/** Replaces a method of the library's models that its configuration does not reach. */
function override(prototype: object, name: string, method: (self: unknown, own: () => unknown) => unknown): void {
  const own: unknown = Reflect.get(prototype, name);
  if (typeof own !== 'function') throw new Error(`oidc-provider has no ${name} any more`);
  const value = function (this: unknown) {
    return method(this, () => Reflect.apply(own, this, []));
  };
  Object.defineProperty(prototype, name, { value });
}

export type ProviderCookies = Readonly<Record<'session' | 'interaction' | 'resume', string>>;

export const providerCookies = (names: CookieNames): ProviderCookies => ({
  session: names.host('identity_session'),
  interaction: names.path('identity_log_in'),
  resume: names.path('identity_resume'),
});

/** Returns the lifetimes. A rotated refresh token keeps the expiry of the first one. */
function lifetimesOf({
  lifetimes: { accessToken, idToken, refreshToken, session },
  now,
}: ProviderParts): NonNullable<Configuration['ttl']> {
  return {
    AccessToken: accessToken,
    IdToken: idToken,
    RefreshToken: (ctx) => ctx.oidc.entities.RotatedRefreshToken?.remainingTTL ?? refreshToken,
    AuthorizationCode: authorizationCodeSeconds,
    DeviceCode: deviceCodeSeconds,
    Interaction: interactionSeconds,
    Grant: session + refreshToken,
    Session: (_ctx, { loginTs }) =>
      loginTs === undefined ? interactionSeconds : Math.max(1, loginTs + session - Math.floor(now().getTime() / 1000)),
  };
}

/**
 * Returns the prompts for users. Users log in, also if the account of the session is no longer valid. Users consent if another program on
 * the same machine could listen at the redirect URL (RFC 8252, 8.6). Scopes need no consent, because only the identity is shared.
 */
function policy(hasAgents: boolean) {
  const { Check, Prompt, base } = interactionPolicy;
  const prompts = base();
  prompts
    .get('login')
    ?.checks.add(
      new Check(
        'account_refused',
        'the account may no longer log in',
        ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
      ),
    );
  // A user who sets up a factor must prove the existing factors in the same visit.
  prompts.get('login')?.checks.add(new Check('enrol_pending', 'a second factor must be set up', ({ oidc }) => isEnrolmentPending(oidc)));
  prompts.add(new Prompt({ name: 'enrol', requestable: true }));
  // The library treats `acr_values` as voluntary (OpenID Connect Core 5.5.1.1), but relying parties expect a login with all factors.
  prompts.get('login')?.checks.add(new Check('acr_values', 'the client requires a stronger login', ({ oidc }) => isTooWeak(oidc)));
  const goAhead = prompts.get('consent')?.checks.get('native_client_prompt');
  prompts.remove('consent');
  const agent = new Check('agent', 'the user must permit the agent', ({ oidc }) => {
    const resource = requestedResource(oidc);
    return resource !== undefined && !isPermitted(oidc, resource);
  });
  prompts.add(new Prompt({ name: 'consent', requestable: true }, ...(goAhead ? [goAhead] : []), ...(hasAgents ? [agent] : [])));
  return prompts;
}

const isEnrolmentPending = (oidc: KoaContextWithOIDC['oidc']) => oidc.prompts.has('enrol') && oidc.promptPending('enrol');

function isTooWeak({ params, session, result }: KoaContextWithOIDC['oidc']): boolean {
  const wanted = typeof params?.acr_values === 'string' ? params.acr_values.split(' ') : [];
  return wanted.length > 0 && session?.accountId !== undefined && result?.login === undefined && !hasAcr(session.acr, wanted);
}

/** Grant that the session continues to name, by pending authorization. */
const namedGrants = new WeakMap<object, string>();

/**
 * Returns the grant of the session and client, with the requested scopes. Each login at the console has a grant of its own: with a shared
 * grant, the end of a login would revoke the refresh tokens of all others in the browser. The session names the first live grant.
 */
async function grantOf(ctx: KoaContextWithOIDC, { consoleClientID, agents }: Pick<ProviderParts, 'consoleClientID' | 'agents'>) {
  const { oidc } = ctx;
  const resource = agents && requestedResource(oidc);
  if (agents !== undefined && resource !== undefined) return agentGrant(ctx, agents, resource);
  const { session, client, account, provider } = oidc;
  if (session === undefined || client === undefined || account === undefined) return undefined;
  const { accountId } = account;
  const known = await provider.Grant.find(session.grantIdFor(client.clientId) ?? '');
  // A grant of an agent is never used for a login.
  const isOwn = known?.accountId === accountId && known.resources === undefined;
  const isShared = isOwn && client.clientId !== consoleClientID;
  if (isOwn && !isShared) namedGrants.set(oidc, known.jti);
  const grant = isShared ? known : new provider.Grant({ accountId, clientId: client.clientId });
  const granted = new Set(grant.getOIDCScope().split(' '));
  if ([...oidc.requestParamOIDCScopes].every((scope) => granted.has(scope)) && known === grant) return grant;
  grant.addOIDCScope([...oidc.requestParamOIDCScopes].join(' '));
  await grant.save();
  return grant;
}

/** Restores the grant that the session named, once the code has its own: tabs that log in concurrently would overwrite theirs. */
export function nameFirstGrant({ oidc }: KoaContextWithOIDC): void {
  const { session, client } = oidc;
  const first = namedGrants.get(oidc);
  if (first !== undefined && client !== undefined) session?.grantIdFor(client.clientId, first);
}

/** Limits device authorizations. @throws InvalidRequest 429, or 400 for parameters that are too long to store without a login */
function admitDevice(ctx: KoaContextWithOIDC, { perSource, inAll }: ProviderParts['deviceCodes']) {
  const { source } = ctx.state;
  const wait = perSource.take(source) ?? inAll.take('');
  if (wait !== undefined) {
    ctx.set('Retry-After', String(wait.retryAfterSeconds));
    throw new errors.InvalidRequest('too many devices', 429);
  }
  if (JSON.stringify(ctx.oidc.params ?? {}).length > maxDeviceRequest) throw new errors.InvalidRequest('the request is too long');
  return { source, userAgent: ctx.get('User-Agent').slice(0, 256) };
}
