import type { Context } from 'koa';
import { errors } from './oidc-provider.ts';

/**
 * Refuses a form that another site has sent: by Fetch Metadata where the browser tells, else by Origin. Scripts send neither; what a
 * form does needs a cookie, which browsers do not send along with other sites' forms (SameSite=Lax).
 *
 * @throws InvalidRequest 403
 */
export function checkSameOrigin(ctx: Context, origin: string): void {
  const site = ctx.get('Sec-Fetch-Site');
  const sentFrom = ctx.get('Origin');
  const isForeign = site === '' ? sentFrom !== '' && sentFrom !== origin : site !== 'same-origin' && site !== 'none';
  if (isForeign) throw new errors.InvalidRequest('the form was sent by another site', 403);
}
