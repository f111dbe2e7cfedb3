import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { singleCookie } from '../cookies/cookies.ts';
import { type RateExceeded, RateLimit } from '../limits/rate-limit.ts';
import type { Services } from '../services.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { ProviderCookies } from './provider.ts';
import { requestScope } from './request-scope.ts';
import { endSessionView, type Views } from './views.ts';

/** A login makes two requests at the relying party, and up to eight here: pages, forms, second factors and a mistyped password. */
const requestsPerLoginRequest = 4;
/** Documents that are the same for all callers. */
const staticPaths = new Set(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/jwks']);
/** Endpoints that relying parties, such as this service, call for all of their users. */
const relyingPartyPaths = new Set(['/token', '/token/revocation', '/me']);

/**
 * Counts requests to the issuer for each network, as `login.perMinute` counts logins. A relying party that presents a code or token of this
 * issuer is never limited; requests without one, such as guesses at a client secret, are.
 */
export class RequestLimit {
  readonly #limit: RateLimit;
  readonly #knownBrowsers: Pick<KnownBrowsers, 'take'>;

  constructor({ config, clock }: Pick<Services, 'config' | 'clock'>, knownBrowsers: Pick<KnownBrowsers, 'take'>) {
    this.#limit = new RateLimit({ limit: requestsPerLoginRequest * config.login.perMinute, clock });
    this.#knownBrowsers = knownBrowsers;
  }

  /** Counts a request of a browser. @returns the wait if the limit is exceeded; @throws StatusError 503 while there is no key */
  async count(ctx: Context, path: string): Promise<RateExceeded | undefined> {
    if (staticPaths.has(path) || relyingPartyPaths.has(path)) return undefined;
    const taken = await this.#knownBrowsers.take(ctx, this.#limit);
    return 'retryAfterSeconds' in taken ? taken : undefined;
  }

  /** Counts an answered request of a relying party that has presented no code or token of this issuer. @throws StatusError 429 */
  countUnproven(ctx: Context, path: string): void {
    if (relyingPartyPaths.has(path) && !requestScope().isProven) this.#limit.require(ctx.state.source);
  }
}

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
