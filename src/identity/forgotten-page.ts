/** Page for forgotten passwords: one form, and the same answer for every address. */
import type { Context } from 'koa';
import { methodNotAllowed } from '../api/status.ts';
import { auditOrigin } from '../http/audit.ts';
import { formReader } from '../http/body.ts';
import type { LinkMail } from '../one-time-links/link-mail.ts';
import { forgottenPage, forgottenSentPage, noMailPage } from './link-pages.ts';
import { checkSameOrigin } from './same-origin.ts';
import type { Views } from './views.ts';

const readForm = formReader(8 * 1024);

export interface ForgottenPageParts {
  views: Views;
  /** Undefined if no mail is sent: then the page refers to an administrator. */
  linkMail: Pick<LinkMail, 'forgotten'> | undefined;
  /** Origin of the issuer. */
  origin: string;
}

/** @throws InvalidRequest 403 for a form of another site; StatusError 405, 413, 415 */
export async function answerForgottenPage({ views, linkMail, origin }: ForgottenPageParts, ctx: Context): Promise<void> {
  if (!['GET', 'HEAD', 'POST'].includes(ctx.method)) throw methodNotAllowed(ctx.method, ['GET', 'HEAD', 'POST']);
  if (ctx.method === 'POST') checkSameOrigin(ctx, origin);
  const texts = views.texts(ctx);
  ctx.status = 200;
  if (linkMail === undefined) return views.send(ctx, noMailPage(texts, views.consoleURL));
  if (ctx.method !== 'POST') return views.send(ctx, forgottenPage(texts, views.consoleURL));
  const form = await readForm(ctx);
  linkMail.forgotten({ email: (form.get('email') ?? '').trim(), texts, origin: auditOrigin(ctx) });
  views.send(ctx, forgottenSentPage(texts, views.consoleURL));
}
