import type { Context } from 'koa';
import { StatusError } from '../api/status.ts';
import { upgradeOf } from '../http/upgrade.ts';

/** What a request must show whose credential is the session cookie, which a browser sends along with the requests of any page (docs/contract/conventions.md). */
export interface CrossSiteRule {
  /** The cookie alone is the credential. @throws StatusError 403 for a write, or a request that is passed on, from a page of another site */
  check(ctx: Context): void;
  /** The caller has to know a secret beside the cookie. @throws StatusError 403 for a request from another site */
  checkProven(ctx: Context): void;
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** What a GET does there, the service does not know. */
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
    // A browser writes this header itself. Behind some proxies `Origin` is not what the page's address says, so it does not count beside it.
    if (site !== undefined) return site === 'same-origin' || site === 'none';
    // Without both it is no browser: every browser sends `Origin` with a write from another site.
    return origin === undefined || origin === own;
  };

  return {
    check(ctx) {
      const upgrade = upgradeOf(ctx.req);
      // Any page may open a WebSocket to us, and browsers send `Origin` with each; other protocols no page speaks.
      if (upgrade && (upgrade.protocol !== 'websocket' || !(isListed(ctx) || ctx.req.headers.origin === own)))
        throw crossSite('with a session, only a WebSocket of a page of this service or of server.corsOrigins is opened');
      if (isKubernetes.test(ctx.path) && !isOfScript(ctx))
        throw crossSite('with a session, the Kubernetes API answers scripts alone: no link, image, frame or script element');
      if (safeMethods.has(ctx.method) && !isPassedOn.test(ctx.path)) return;
      if (!isAllowed(ctx)) throw crossSite('the request does not come from a page of this service or of server.corsOrigins');
    },
    checkProven(ctx) {
      const { 'sec-fetch-site': site } = ctx.req.headers;
      // Over plain http browsers send `Origin` alone.
      const isElsewhere = site === undefined ? !isAllowed(ctx) : site === 'cross-site' && !isListed(ctx);
      if (isElsewhere) throw crossSite('the request comes from another site');
    },
  };
}

/** Browsers say what they want a response for (Fetch Metadata Request Headers, 2.2); for `fetch` and the like it is `empty`. */
const isOfScript = ({ req }: Context) => ['empty', 'websocket'].includes(String(req.headers['sec-fetch-dest'] ?? 'empty'));

const crossSite = (message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'CrossSiteRequest', message }] } });
