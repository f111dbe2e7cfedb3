import type { Context } from 'koa';
import type { ClientMetadata, default as Provider } from 'oidc-provider';
import { methodNotAllowed } from '../api/status.ts';
import { byPasskey } from '../factors/passkey-login.ts';
import { auditOrigin } from '../http/audit.ts';
import { formReader } from '../http/body.ts';
import type { PasswordCheck, PasswordVerdict } from '../users/passwords/check.ts';
import { passkeyIn, stale, takeFactor, takeNewFactor, takeNewPasskey, takeNotices, takeRead } from './factor-step.ts';
import { errors } from './oidc-provider.ts';
import { consentPage, type LockRule, type LoginProblem, loginPage } from './pages.ts';
import { takeNewPassword } from './password-due.ts';
import type { Progress, Step } from './progress.ts';
import { requestScope } from './request-scope.ts';
import { checkSameOrigin } from './same-origin.ts';
import { afterPassword, afterSecondFactor, askForFactor, offersPasskeys, owedFactors, type StepParts } from './steps.ts';
import { finish, formTargetsOf, textsOf, type Unavailable, unlessUnavailable, type Visit } from './visit.ts';

/** Accepts the response of a passkey, which has at most 16 KiB and grows by form encoding. */
const readForm = formReader(32 * 1024);

export interface LoginPageParts extends StepParts {
  /** Origin of the issuer. */
  origin: string;
  lock: LockRule;
  /** Address of the form for forgotten passwords; undefined if no mail is sent. */
  forgottenURL: string | undefined;
  passwordCheck: Pick<PasswordCheck, 'check'>;
}

/** Handlers of the forms after the first one, by step. */
const laterForms: Record<Step, (parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams) => Promise<void>> = {
  factor: takeFactor,
  enrol: takeNewFactor,
  passkey: takeNewPasskey,
  codes: takeRead,
  notices: takeNotices,
  password: takeNewPassword,
};

/**
 * Answers the page to which the provider redirects browsers: login, or the consent of a user who is logged in already.
 *
 * @throws SessionNotFound if this browser did not begin the login, or the login has expired
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
  const outcome = await unlessUnavailable(() => takeForm(parts, visit, form));
  if (outcome !== undefined) refuse(parts, visit, form.get('email') ?? '', outcome);
}

/** @throws SessionNotFound for a form of another visit */
async function takeForm(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<void> {
  const proof = form.get('proof');
  if (proof === null && (form.get('assertion') ?? '') !== '') return logInByPasskey(parts, visit, form);
  if (proof === null) return logIn(parts, visit, { email: form.get('email') ?? '', password: form.get('password') ?? '' });
  const progress = await parts.progress.open(proof, visit.interaction.uid);
  if (progress === undefined) throw stale();
  const owed = await owedFactors(parts, progress);
  if (owed.length > 0) return askForFactor(parts, visit, progress, owed);
  await laterForms[progress.step](parts, visit, progress, form);
}

async function logIn(parts: LoginPageParts, visit: Visit, { email, password }: { email: string; password: string }): Promise<void> {
  const { ctx, interaction } = visit;
  const browser = await parts.knownBrowsers.find(ctx);
  const verdict = await parts.passwordCheck.check({ email, password, browser, ...auditOrigin(ctx) }, requestScope().signal);
  if (verdict.outcome !== 'ok') return refuse(parts, visit, email, verdict);
  const { account, passwordChangedAt } = verdict;
  await afterPassword(parts, visit, { account, progress: parts.progress.begin(interaction.uid, account, passwordChangedAt) });
}

/** Logs in by a passkey, which replaces name, password and second factor. */
async function logInByPasskey(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<void> {
  const { ctx, interaction } = visit;
  const given = await passkeyIn(parts, visit, form, '');
  if (given === undefined || !offersPasskeys(parts)) throw stale();
  const verdict = await parts.passkeys.login.logIn(given, auditOrigin(ctx));
  if (verdict.outcome === 'ok') {
    const { account, passwordChangedAt } = verdict;
    const progress = parts.progress.begin(interaction.uid, account, passwordChangedAt, byPasskey);
    return afterSecondFactor(parts, visit, { account, progress });
  }
  ctx.status = 403;
  if (verdict.outcome === 'passwordFirst') return showForm(parts, visit, '', { kind: 'passwordFirst' });
  if (verdict.retryAfterSeconds === undefined) return showForm(parts, visit, '', { kind: 'passkeyRefused' });
  refuse(parts, visit, '', { ...verdict, reason: 'TooManyFromSource' });
}

type Refusal = Extract<PasswordVerdict, { outcome: 'refused' }>;

function refuse(parts: LoginPageParts, visit: Visit, email: string, verdict: Refusal | Unavailable): void {
  const { ctx } = visit;
  if (verdict.outcome === 'unavailable') {
    ctx.status = 503;
    ctx.set(verdict.status.headers);
    showForm(parts, visit, email, { kind: 'unavailable' });
    return;
  }
  const seconds = verdict.retryAfterSeconds;
  ctx.status = seconds === undefined ? 403 : 429;
  if (seconds !== undefined) ctx.set('Retry-After', String(seconds));
  showForm(parts, visit, email, seconds === undefined ? { kind: 'refused' } : { kind: 'tooMany', seconds });
}

function showForm(parts: LoginPageParts, visit: Visit, email?: string, problem?: LoginProblem): void {
  const { ctx, interaction, clientName } = visit;
  const { login_hint: hint } = interaction.params;
  const texts = textsOf(parts, visit);
  const formTargets = formTargetsOf(visit);
  const page =
    interaction.prompt.name === 'consent'
      ? consentPage(texts, clientName, formTargets)
      : loginPage(texts, {
          client: clientName === parts.views.title ? undefined : clientName,
          email: (email ?? (typeof hint === 'string' ? hint : '')).slice(0, 253),
          ...(problem && { problem }),
          lock: parts.lock,
          passkey: anyPasskey(parts, visit),
          forgottenURL: parts.forgottenURL,
          formTargets,
        });
  parts.views.send(ctx, page);
}

/** Returns the passkey options for a user who is not known yet, the same for all users; undefined if passkeys are turned off. */
function anyPasskey(parts: LoginPageParts, { interaction }: Visit) {
  if (!offersPasskeys(parts)) return undefined;
  const { text, sealed } = parts.passkeys.challenges.give(interaction.uid, '');
  return { challenge: sealed, options: parts.passkeys.passkeys.requestOptions(text) };
}
