/** Page of a one-time link: a form for a new password or a second factor. Only a submitted form uses up the link. */
import { formReader } from '@atrium/http/body.ts';
import { methodNotAllowed } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { auditReasons, type FoundLink, type LinkKind, type OneTimeLinks } from '../one-time-links/links.ts';
import type { LinkMail } from '../one-time-links/mails.ts';
import type { Services } from '../services.ts';
import { typedAddress } from '../users/record/typed-address.ts';
import { answerEnrolLink } from './enrol-link.ts';
import type { NewPasswordProblem } from './html.ts';
import { forgottenPage, forgottenSentPage, linkDonePage, linkGonePage, linkPasswordPage, noMailPage } from './link-pages.ts';
import type { LoginPageParts } from './steps.ts';
import type { Views } from './views.ts';
import { aboutUser, checkSameOrigin } from './visit.ts';

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
  linkMail.forgotten({ email: typedAddress(form.get('email') ?? ''), texts, origin: auditOrigin(ctx) });
  views.send(ctx, forgottenSentPage(texts, views.consoleURL));
}

interface PasswordLink extends FoundLink {
  kind: Exclude<LinkKind, 'enrol'>;
}

export interface LinkPageParts {
  services: Services;
  views: Views;
  links: OneTimeLinks;
  /** Address of the form for a new link; undefined if no mail is sent. */
  forgottenURL: string | undefined;
  /** Origin of the issuer. */
  origin: string;
  /** Dependencies of the login steps, some of which a link for a second factor reuses. */
  logIn: LoginPageParts;
}

/** @throws InvalidRequest 403 for a form of another site; StatusError 405, 429, 503, 504 */
export async function answerLinkPage(parts: LinkPageParts, ctx: Context, token: string): Promise<void> {
  if (!['GET', 'HEAD', 'POST'].includes(ctx.method)) throw methodNotAllowed(ctx.method, ['GET', 'HEAD', 'POST']);
  if (ctx.method === 'POST') checkSameOrigin(ctx, parts.origin);
  const found = await parts.links.find(token);
  if (found === undefined) return showExpiredLink(parts, ctx);
  const { kind } = found.link;
  if (kind === 'enrol') return answerEnrolLink({ ...parts, showGone: () => showExpiredLink(parts, ctx) }, ctx, { ...found, token });
  if (ctx.method !== 'POST') return showForm(parts, ctx, { ...found, kind });
  await takePassword(parts, ctx, { ...found, kind }, await readForm(ctx));
}

async function takePassword(parts: LinkPageParts, ctx: Context, found: PasswordLink, form: URLSearchParams): Promise<void> {
  const password = form.get('new_password') ?? '';
  const verdict =
    form.get('new_password_again') === password
      ? await parts.links.setPassword(found.link, password)
      : ({ outcome: 'refused', problem: 'Different' } as const);
  if (verdict.outcome === 'overtaken') return showExpiredLink(parts, ctx);
  if (verdict.outcome === 'refused') {
    ctx.status = 422;
    return showForm(parts, ctx, found, verdict.problem);
  }
  const whom = { ...aboutUser({ ctx }, verdict.account), outcome: 'success' } as const;
  parts.services.audit.record({ audit: 'LinkUsed', ...whom, reason: auditReasons[found.kind] });
  parts.services.audit.record({ audit: 'PasswordChanged', ...whom });
  ctx.status = 200;
  parts.views.send(ctx, linkDonePage(parts.views.texts(ctx), parts.views.consoleURL));
}

function showForm({ services, views }: LinkPageParts, ctx: Context, { kind, email }: PasswordLink, problem?: NewPasswordProblem): void {
  if (problem === undefined) ctx.status = 200;
  const { minLength } = services.config.users.passwordPolicy;
  const form = { kind, email, client: views.title, minLength, ...(problem && { problem }) };
  views.send(ctx, linkPasswordPage(views.texts(ctx), form));
}

function showExpiredLink({ views, forgottenURL }: LinkPageParts, ctx: Context): void {
  ctx.status = 410;
  views.send(ctx, linkGonePage(views.texts(ctx), views.consoleURL, forgottenURL));
}
