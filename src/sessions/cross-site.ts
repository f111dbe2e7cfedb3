import { upgradeOf } from '@atrium/http/upgrade.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';

/** Rules for requests with the session cookie, which browsers add to the requests of any page (docs/contract/conventions.md). */
export interface CrossSiteRule {
  /** Checks a request with the cookie alone. @throws StatusError 403 for a write or a forwarded request from a page of another site */
  check(ctx: Context): void;
  /** Checks a request whose caller has to know a secret beside the cookie. @throws StatusError 403 for a request from another site */
  checkProven(ctx: Context): void;
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Forwarded paths, where the effect of a GET is unknown to the service. */
const isKubernetes = /^\/api\/kubernetes(\/|$)/;
const isPassedOn = /^\/api\/(kubernetes|proxy)(\/|$)/;

/**
 * @param own origin of the public URL
 * @param listed origins whose pages may call the API
 */
export function crossSiteRule(own: string, listed: readonly string[]): CrossSiteRule {
  const isListed = ({ req }: Context) => listed.includes(req.headers.origin ?? '');
  const isAllowed = (ctx: Context): boolean => {
    const { origin, 'sec-fetch-site': site } = ctx.req.headers;
    if (isListed(ctx)) return true;
    // Browsers set `Sec-Fetch-Site` themselves. `Origin` is then ignored, because behind some proxies it differs from the page's address.
    if (site !== undefined) return site === 'same-origin' || site === 'none';
    // A request without both headers is not from a browser: every browser sends `Origin` with a write from another site.
    return origin === undefined || origin === own;
  };

  return {
    check(ctx) {
      const upgrade = upgradeOf(ctx.req);
      // Any page can open a WebSocket, and browsers send `Origin` with it. Pages cannot use other protocols.
      if (upgrade && (upgrade.protocol !== 'websocket' || !(isListed(ctx) || ctx.req.headers.origin === own)))
        throw crossSite('with a session, only a WebSocket of a page of this service or of server.corsOrigins is opened');
      if (isKubernetes.test(ctx.path) && !isOfScript(ctx))
        throw crossSite('with a session, the Kubernetes API answers scripts alone: no link, image, frame or script element');
      if (safeMethods.has(ctx.method) && !isPassedOn.test(ctx.path)) return;
      if (!isAllowed(ctx)) throw crossSite('the request does not come from a page of this service or of server.corsOrigins');
    },
    checkProven(ctx) {
      const { 'sec-fetch-site': site } = ctx.req.headers;
      // Browsers send only `Origin` over plain HTTP.
      const isElsewhere = site === undefined ? !isAllowed(ctx) : site === 'cross-site' && !isListed(ctx);
      if (isElsewhere) throw crossSite('the request comes from another site');
    },
  };
}

/** Reports whether a script sends the request: its destination (Fetch Metadata Request Headers, 2.2) is then `empty` or `websocket`. */
const isOfScript = ({ req }: Context) => ['empty', 'websocket'].includes(String(req.headers['sec-fetch-dest'] ?? 'empty'));

const crossSite = (message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'CrossSiteRequest', message }] } });
