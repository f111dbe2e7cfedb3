/**
 * Page of a one-time link for a second factor, for users whose deadline has passed, or who have lost their factors. The form also requires
 * the password, so that neither the link nor the password alone sets up a factor.
 */
import { hash } from 'node:crypto';
import { formReader } from '@atrium/http/body.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { auditReasons, type FoundLink, type OneTimeLinks } from '../one-time-links/links.ts';
import { codesPage } from './factor-pages.ts';
import { linkEnrolPage } from './link-pages.ts';
import { ruleFor, showSetUpForm, takeNewFactor } from './new-factor-step.ts';
import { explain, type LoginProblem } from './pages.ts';
import { requestScope } from './request-scope.ts';
import type { LoginPageParts } from './steps.ts';
import { aboutUser, type FormVisit, type Progress, send, textsOf } from './visit.ts';

/** Accepts the response of a passkey, which has at most 16 KiB and grows by form encoding. */
const readForm = formReader(32 * 1024);

interface EnrolLinkParts {
  links: OneTimeLinks;
  logIn: LoginPageParts;
  /** Answers that the link is no longer valid. */
  showGone: () => void;
}

type EnrolLink = FoundLink & { token: string };

/** @throws StatusError 429, 503, 504 */
export async function answerEnrolLink(parts: EnrolLinkParts, ctx: Context, found: EnrolLink): Promise<void> {
  const { logIn } = parts;
  // A proof in this visit is not valid for another link, or for a login.
  const interaction = { uid: `link-${hash('sha256', found.token)}`, params: {} };
  const visit: FormVisit = { ctx, interaction, isSecretAddress: true };
  if (logIn.factors === undefined || ruleFor(logIn, found.account) === 'off') return parts.showGone();
  ctx.status = 200;
  if (ctx.method !== 'POST') return showForm(logIn, visit, found);
  const form = await readForm(ctx);
  const progress = await logIn.progress.open(form.get('proof') ?? '', interaction.uid);
  if (progress?.uid !== found.account.uid) return takePassword(logIn, visit, found, form);
  await handleFactorForm(parts, visit, found, { progress, form });
}

/** Verifies the password. Attempts are counted as at a login. */
async function takePassword(logIn: LoginPageParts, visit: FormVisit, found: EnrolLink, form: URLSearchParams): Promise<void> {
  const { ctx, interaction } = visit;
  const { email } = found;
  const browser = await logIn.knownBrowsers.find(ctx);
  const attempt = { email, password: form.get('password') ?? '', browser, ...auditOrigin(ctx) };
  const verdict = await logIn.passwordCheck.check(attempt, requestScope().signal);
  if (verdict.outcome === 'ok' && verdict.account.uid === found.account.uid) {
    const progress = logIn.progress.begin(interaction.uid, verdict.account, verdict.passwordChangedAt);
    return send(logIn, visit, await showSetUpForm(logIn, visit, { progress, later: undefined }));
  }
  const seconds = verdict.outcome === 'refused' ? verdict.retryAfterSeconds : undefined;
  ctx.status = seconds === undefined ? 403 : 429;
  if (seconds !== undefined) ctx.set('Retry-After', String(seconds));
  showForm(logIn, visit, found, seconds === undefined ? { kind: 'refused' } : { kind: 'tooMany', seconds });
}

function showForm(logIn: LoginPageParts, visit: FormVisit, { email }: EnrolLink, problem?: LoginProblem): void {
  const texts = textsOf(logIn, visit);
  send(logIn, visit, linkEnrolPage(texts, { email, problem: problem && explain(texts, problem, logIn.lock) }));
}

interface Given {
  progress: Progress;
  form: URLSearchParams;
}

/** Sets up a factor. The link is used up after verification and before the write, so only one of two requests succeeds. */
async function handleFactorForm(parts: EnrolLinkParts, visit: FormVisit, { link, account }: EnrolLink, given: Given): Promise<void> {
  const { logIn, links, showGone } = parts;
  const { factors } = logIn;
  if (factors === undefined) return showGone();
  const before = await factors.list(account);
  const outcome = await takeNewFactor(logIn, visit, { ...given, account, later: undefined, mayAdd: () => links.use(link) });
  if (outcome === 'overtaken') return showGone();
  if (outcome !== 'added') return send(logIn, visit, outcome);
  const origin = auditOrigin(visit.ctx);
  // Old factors are removed after the new one exists: a crash must not leave a user without a factor.
  await factors.remove(account, before, origin);
  const codes = await factors.addRecoveryCodes(account, origin);
  logIn.services.audit.record({ audit: 'LinkUsed', ...aboutUser(visit, account), outcome: 'success', reason: auditReasons.enrol });
  send(logIn, visit, codesPage(textsOf(logIn, visit), { next: { url: logIn.views.consoleURL }, codes, formTargets: [] }));
}
