import { singleCookie } from '@atrium/http/cookies/cookies.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import type { Context, Middleware } from 'koa';
import mount from 'koa-mount';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { embeddedClientOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { clientsOf } from './clients.ts';
import { createProvider, nameFirstGrant, type ProviderCookies, type ProviderParts } from './provider.ts';
import { endSessionView, type Views } from './views.ts';

const refreshMs = 60_000;

export interface MountedProvider {
  readonly provider: Provider;
  readonly middleware: Middleware;
}

interface KeeperOptions {
  keyRing: Pick<KeyRing, 'signingKeys' | 'cookieKeys'>;
  config: Config;
  publicURL: string;
  /** Path at which the provider is mounted, without the base path. */
  prefix: string;
  /** Wraps all answers of the provider. */
  around: Middleware;
  parts: Omit<ProviderParts, 'signingKeys' | 'cookieKeys' | 'clients' | 'lifetimes'>;
  log: Logger;
}

/**
 * Creates the provider once its keys can be read, and replaces it after their rotation. The provider has no state of its own, so clients
 * do not notice the replacement.
 */
export class CurrentProvider {
  readonly #options: KeeperOptions;
  #current: (MountedProvider & { keys: string }) | undefined;
  #making: Promise<MountedProvider> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: string | undefined = 'not started yet';

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  start(): void {
    const refresh = () => void this.#make().catch(() => undefined);
    this.#timer = setInterval(refresh, refreshMs).unref();
    refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Returns the reason why users cannot log in; undefined if they can. */
  failure(): string | undefined {
    return this.#failure;
  }

  /** @throws StatusError 503 while the provider cannot be created */
  async get(): Promise<MountedProvider> {
    return this.#current ?? this.#make();
  }

  #make(): Promise<MountedProvider> {
    this.#making ??= this.#made()
      .catch((error: unknown) => {
        // The current provider continues with its keys.
        if (this.#current !== undefined) return this.#current;
        this.#failure = error instanceof StatusError ? error.message : 'the configuration of a client cannot be used';
        this.#options.log.warn({ err: error }, 'embedded OpenID provider unavailable');
        throw error instanceof StatusError ? error : serviceUnavailable('identity provider', { cause: error });
      })
      .finally(() => {
        this.#making = undefined;
      });
    return this.#making;
  }

  async #made(): Promise<MountedProvider> {
    const { keyRing, parts, config, publicURL, prefix, around } = this.#options;
    const signingKeys = await keyRing.signingKeys();
    const cookieKeys = await keyRing.cookieKeys();
    const keys = JSON.stringify([signingKeys.map(({ kid }) => kid), cookieKeys]);
    if (this.#current?.keys === keys) return this.#current;
    const clients = await clientsOf({
      publicURL,
      login: embeddedClientOf(config),
      clients: config.identity.clients,
      title: config.identity.loginPage.title,
      backchannelLogout: config.features.backchannelLogout,
    });
    const provider = createProvider({ ...parts, signingKeys, cookieKeys, clients, lifetimes: lifetimesOf(config) });
    provider.use(around);
    this.#listen(provider);
    this.#current = { provider, middleware: mount(prefix, provider), keys };
    this.#failure = undefined;
    return this.#current;
  }

  #listen(provider: Provider): void {
    const { log } = this.#options;
    provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'embedded OpenID provider failed'));
    provider.on('grant.error', (ctx, { error, error_detail: detail }) => {
      log.info({ client: ctx.oidc.client?.clientId, grantType: ctx.oidc.params?.grant_type, error, detail }, 'no token issued');
    });
    provider.on('backchannel.error', (_ctx, error, client) => {
      log.warn({ client: client.clientId, reason: error.message }, 'back-channel logout of a relying party failed');
    });
    // A logout here revokes the tokens of this browser, unless offline access was requested and granted.
    provider.on('authorization.success', (ctx) => {
      nameFirstGrant(ctx);
      const { oidc } = ctx;
      if (oidc.client === undefined || oidc.requestParamScopes.has('offline_access')) return;
      delete oidc.session?.authorizationFor(oidc.client.clientId).persistsLogout;
    });
  }
}

const secondsOf = (milliseconds: number) => Math.max(1, Math.floor(milliseconds / 1000));

const lifetimesOf = ({ identity, login }: Pick<Config, 'identity' | 'login'>) => ({
  accessToken: secondsOf(identity.accessTokenTTL),
  idToken: secondsOf(identity.idTokenTTL),
  refreshToken: secondsOf(identity.refreshTokenTTL ?? login.session.absolute),
  session: secondsOf(login.session.absolute),
});

/**
 * Gives the provider its own cookies, signed with its own keys, and Secure by the issuer's URL, because TLS may end at a proxy. The library
 * searches the whole header for each name and takes the first of two cookies. Other cookies, and cookies sent twice, are removed.
 */
export function useProviderCookies(ctx: Context, provider: Provider, names: ProviderCookies): void {
  const own = Object.values(names).flatMap((name) => [name, `${name}.sig`]);
  const sent = own.map((name) => [name, singleCookie(ctx, name)] as const).filter(([, value]) => value !== undefined);
  ctx.req.headers.cookie = sent.map((pair) => pair.join('=')).join('; ');
  const { cookies } = provider.createContext(ctx.req, ctx.res);
  cookies.secure = provider.issuer.startsWith('https:');
  ctx.cookies = cookies;
}

/** Replaces values that the provider reads from the request, in particular the Host header, by the configuration. */
export function useConfiguredOrigin(views: Views, path: string, issuerURL: string): Middleware {
  const isSecure = issuerURL.startsWith('https:');
  return async (ctx, next) => {
    ctx.mountPath = path;
    Object.defineProperties(ctx, { href: { value: issuerURL }, secure: { value: isSecure } });
    keepUserCode(ctx);
    // This policy is for the only page of the library that is in use, a form that submits itself (OAuth 2.0 Form Post Response Mode).
    ctx.set('Content-Security-Policy', "default-src 'none'; script-src 'none'; base-uri 'none'; frame-ancestors 'none'");
    await next();
    const route = String(ctx._matchedRouteName);
    ctx.state.operationId = `identity ${route}`;
    if (isProviderContext(ctx) && isSelfPosting(ctx, route)) endSessionView(views, ctx);
  };
}

/** Moves a user code from the URL into the form, for the user to compare and submit. */
function keepUserCode(ctx: Context): void {
  const code = ctx.query.user_code;
  if (ctx.method !== 'GET' || !/^\/device\/?$/i.test(ctx.path) || typeof code !== 'string') return;
  ctx.state.userCode = code.slice(0, 32);
  ctx.querystring = '';
}

/** Reports whether the provider answers with its own page that ends a session by a script. */
function isSelfPosting(ctx: KoaContextWithOIDC, route: string): boolean {
  if (ctx.status !== 200) return false;
  const { session } = ctx.oidc;
  if (route === 'end_session') return session?.accountId === undefined;
  if (route !== 'resume' && route !== 'device_resume') return false;
  return session?.state?.postLogoutRedirectUri === ctx.oidc.urlFor(route, ctx.params);
}

const isProviderContext = (ctx: object): ctx is KoaContextWithOIDC => 'oidc' in ctx;
