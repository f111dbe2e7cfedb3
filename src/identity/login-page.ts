import type { Context } from 'koa';
import type { ClientMetadata, default as Provider } from 'oidc-provider';
import { methodNotAllowed, StatusError } from '../api/status.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { formReader } from '../http/body.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { PasswordCheck, PasswordVerdict } from '../users/passwords/check.ts';
import type { Account } from '../users/record/account.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { subjectOf } from '../users/record/subject-name.ts';
import { errors } from './oidc-provider.ts';
import { consentPage, type LockRule, type LoginProblem, loginPage, newPasswordPage } from './pages.ts';
import type { PasswordDue } from './password-due.ts';
import { requestScope } from './request-scope.ts';
import { checkSameOrigin } from './same-origin.ts';
import type { NewPasswordProblem } from './texts.ts';
import { originsOf, type Views } from './views.ts';

const readForm = formReader(8 * 1024);

export interface LoginPageParts {
  views: Views;
  /** Origin of the issuer. */
  origin: string;
  lock: LockRule;
  consoleClientID: string;
  accounts: AccountLookup;
  passwordCheck: Pick<PasswordCheck, 'check'>;
  knownBrowsers: Pick<KnownBrowsers, 'find' | 'remember'>;
  passwordDue: Pick<PasswordDue, 'prove' | 'change'>;
  /** `users.passwordPolicy.minLength` */
  minLength: number;
  audit: Audit;
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** One visit to the login page, and which client asks for the login. */
interface Visit {
  ctx: Context;
  provider: Provider;
  interaction: Interaction;
  clientID: string;
  clientName: string;
}

/**
 * The page that the provider sends browsers to when it needs a user: login, or the consent of a user who is logged in already.
 *
 * @throws SessionNotFound if this browser has not begun it, or too long ago
 */
export async function answerLoginPage(parts: LoginPageParts, ctx: Context, provider: Provider, uid: string): Promise<void> {
  if (!['GET', 'HEAD', 'POST'].includes(ctx.method)) throw methodNotAllowed(ctx.method, ['GET', 'HEAD', 'POST']);
  if (ctx.method === 'POST') checkSameOrigin(ctx, parts.origin);
  const interaction = await provider.interactionDetails(ctx.req, ctx.res);
  if (interaction.uid !== uid) throw new errors.SessionNotFound('another login');
  const clientID = String(interaction.params.client_id);
  const client: ClientMetadata | undefined = (await provider.Client.find(clientID))?.metadata();
  const visit = { ctx, provider, interaction, clientID, clientName: client?.client_name ?? clientID };
  if (ctx.method !== 'POST') return showForm(parts, visit);
  const form = await readForm(ctx);
  if (form.has('cancel')) return finish(visit, { error: 'access_denied', error_description: 'the login was cancelled' });
  if (interaction.prompt.name === 'consent') return finish(visit, { ...interaction.lastSubmission, consent: {} });
  if (form.has('proof')) return changePassword(parts, visit, form);
  await logIn(parts, visit, { email: form.get('email') ?? '', password: form.get('password') ?? '' });
}

async function logIn(parts: LoginPageParts, visit: Visit, { email, password }: { email: string; password: string }): Promise<void> {
  const { ctx, interaction } = visit;
  const browser = await parts.knownBrowsers.find(ctx);
  const verdict = await unlessUnavailable(() =>
    parts.passwordCheck.check({ email, password, browser, ...auditOrigin(ctx) }, requestScope().signal),
  );
  if (verdict.outcome !== 'ok') return refuse(parts, visit, email, verdict);
  const { account, passwordChangedAt } = verdict;
  if (!account.mustChangePassword) return succeed(parts, visit, account);
  askForPassword(parts, visit, { email: account.email, proof: parts.passwordDue.prove(interaction.uid, account, passwordChangedAt) });
}

/** @throws SessionNotFound for a form that does not come from this visit, or not after the last change of the password */
async function changePassword(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<void> {
  const { ctx, interaction } = visit;
  const verdict = await unlessUnavailable(() => parts.passwordDue.change(interaction.uid, form));
  if (verdict.outcome === 'stale') throw new errors.SessionNotFound('the old password was given elsewhere, or too long ago');
  if (verdict.outcome === 'unavailable') return refuse(parts, visit, '', verdict);
  if (verdict.outcome === 'refused') {
    ctx.status = 422;
    return askForPassword(parts, visit, { ...verdict, proof: form.get('proof') ?? '' });
  }
  const { account } = verdict;
  parts.audit.record({ audit: 'PasswordChanged', ...subjectsOf(visit, account), outcome: 'success' });
  await succeed(parts, visit, account);
}

function askForPassword(parts: LoginPageParts, visit: Visit, form: { email: string; proof: string; problem?: NewPasswordProblem }): void {
  const formTargets = originsOf(visit.interaction.params.redirect_uri);
  parts.views.send(visit.ctx, newPasswordPage(textsOf(parts, visit), { ...form, minLength: parts.minLength, formTargets }));
}

async function succeed(parts: LoginPageParts, visit: Visit, account: Account): Promise<void> {
  await parts.accounts.waitFor(account.resourceVersion, seenWithinMs, requestScope().signal);
  await parts.knownBrowsers.remember(visit.ctx, account.uid);
  // The console records its own logins.
  if (visit.clientID !== parts.consoleClientID)
    parts.audit.record({ audit: 'LoginSucceeded', ...subjectsOf(visit, account), outcome: 'success' });
  await finish(visit, { login: { accountId: subjectOf(account), remember: false, amr: ['pwd'] }, consent: {} });
}

const subjectsOf = ({ ctx }: Visit, { name, uid, subjectName }: Account) => ({
  ...auditOrigin(ctx),
  actor: { name: subjectName, uid },
  target: { name, uid },
});

interface Unavailable {
  outcome: 'unavailable';
  status: StatusError;
}

/** What is out of reach or overrun has a page here, too. */
async function unlessUnavailable<T>(verdict: () => Promise<T>): Promise<T | Unavailable> {
  try {
    return await verdict();
  } catch (error) {
    if (error instanceof StatusError && [429, 503, 504].includes(error.status.code)) return { outcome: 'unavailable', status: error };
    throw error;
  }
}

type Refusal = Extract<PasswordVerdict, { outcome: 'refused' }>;

async function refuse(parts: LoginPageParts, visit: Visit, email: string, verdict: Refusal | Unavailable): Promise<void> {
  const { ctx } = visit;
  if (verdict.outcome === 'unavailable') {
    ctx.status = 503;
    ctx.set(verdict.status.headers);
    return showForm(parts, visit, email, { kind: 'unavailable' });
  }
  const seconds = verdict.retryAfterSeconds;
  ctx.status = seconds === undefined ? 403 : 429;
  if (seconds !== undefined) ctx.set('Retry-After', String(seconds));
  return showForm(parts, visit, email, seconds === undefined ? { kind: 'refused' } : { kind: 'tooMany', seconds });
}

const textsOf = ({ views }: LoginPageParts, { ctx, interaction }: Visit) => views.texts(ctx, interaction.params.ui_locales);

function showForm(parts: LoginPageParts, visit: Visit, email?: string, problem?: LoginProblem): void {
  const { ctx, interaction, clientName } = visit;
  const { login_hint: hint, redirect_uri: redirectURI } = interaction.params;
  const texts = textsOf(parts, visit);
  const formTargets = originsOf(redirectURI);
  const page =
    interaction.prompt.name === 'consent'
      ? consentPage(texts, clientName, formTargets)
      : loginPage(texts, {
          client: clientName === parts.views.title ? undefined : clientName,
          email: (email ?? (typeof hint === 'string' ? hint : '')).slice(0, 253),
          ...(problem && { problem }),
          lock: parts.lock,
          formTargets,
        });
  parts.views.send(ctx, page);
}

/** Goes back to where the provider waits for the answer. */
async function finish({ ctx, provider }: Visit, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
  ctx.status = 303;
  ctx.redirect(returnTo);
}
