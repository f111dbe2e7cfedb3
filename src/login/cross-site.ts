import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { StatusError } from '../http/status.ts';

/** What a session cookie, which a browser sends by itself, must come with (api.md 1.6). */
export interface CrossSiteRule {
  /** A request that changes something. @throws StatusError 403 */
  checkWrite(ctx: Context, csrf: string): void;
  /** A GET that has an effect. @throws StatusError 403 */
  checkRead(ctx: Context): void;
}

/** @param origins that of the public URL, and those whose pages may call the API */
export function crossSiteRule(origins: readonly string[]): CrossSiteRule {
  return {
    checkWrite(ctx, csrf) {
      if (!isEqual(ctx.get('X-CSRF-Token'), csrf)) throw crossSite('the header X-CSRF-Token is missing or not that of the session');
      // A browser sends Sec-Fetch-Site, and a page cannot; an old one sends Origin at least.
      if (['same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site')) || origins.includes(ctx.get('Origin'))) return;
      throw crossSite('the request does not come from a page of this service');
    },
    checkRead(ctx) {
      if (ctx.get('Sec-Fetch-Site') === 'cross-site') throw crossSite('the request comes from another site');
    },
  };
}

/** In a time that tells nothing. */
export function isEqual(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

const crossSite = (message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'CrossSiteRequest', message }] } });
