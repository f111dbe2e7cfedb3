import type { Context } from 'koa';
import { errors } from './oidc-provider.ts';

/**
 * Refuses a form of another site: by Fetch Metadata if the browser sends it, else by Origin. Requests without either header are accepted:
 * a login form needs a cookie, which browsers do not send with forms of other sites (SameSite=Lax).
 *
 * @throws InvalidRequest 403
 */
export function checkSameOrigin(ctx: Context, origin: string): void {
  const site = ctx.get('Sec-Fetch-Site');
  const sentFrom = ctx.get('Origin');
  const isForeign = site === '' ? sentFrom !== '' && sentFrom !== origin : site !== 'same-origin' && site !== 'none';
  if (isForeign) throw new errors.InvalidRequest('the form was sent by another site', 403);
}
