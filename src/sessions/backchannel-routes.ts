/** Operation by which the issuer reports a logout (OpenID Connect Back-Channel Logout 1.0, section 2.5). */
import type { Context } from 'koa';
import { z } from 'zod';
import { formReader } from '../http/body.ts';
import { parseQuery } from '../http/input.ts';
import { type Operation, operation } from '../http/operation.ts';

/** @throws StatusError 400, 429, 503, 504 */
export type ReceiveLogout = (ctx: Context, logoutToken: string, signal: AbortSignal) => Promise<void>;

const form = z
  .object({ logout_token: z.string().min(1).describe('A JWT that the issuer has signed, for this client.') })
  .meta({ examples: [{ logout_token: 'eyJhbGciOi…' }] });
const readForm = formReader(16 * 1024);

export const backchannelOperation = (receive: ReceiveLogout): Operation =>
  operation({
    id: 'BackchannelLogout',
    method: 'POST',
    paths: ['/api/v2/token/backchannel-logout'],
    ignoredQuery: 'all',
    tag: 'login',
    summary: 'Ends what the issuer has ended',
    description:
      'For the issuer: the sessions and tokens of one of its sessions (`sid`), or else of all of a user (`sub`), end on every replica. A logout token counts once.',
    credential: 'none',
    described: { body: { 'application/x-www-form-urlencoded': form } },
    answers: {
      200: { description: 'Nothing of it counts any more, if anything did.' },
      400: { description: 'No logout token of the issuer for this client, or one that was used before.' },
    },
    async handle({ ctx, signal }) {
      const { logout_token: token } = form.parse(parseQuery(form, new Set(), await readForm(ctx)));
      await receive(ctx, token, signal);
      ctx.status = 200;
      ctx.body = '';
    },
  });
