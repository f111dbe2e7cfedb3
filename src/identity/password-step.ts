import { byPasskey } from '../factors/passkey-login.ts';
import { auditOrigin } from '../http/audit.ts';
import type { PasswordCheck, PasswordVerdict } from '../users/passwords/check.ts';
import { offersPasskeys } from './new-factor-step.ts';
import type { Page } from './page.ts';
import { type LockRule, type LoginProblem, loginPage } from './pages.ts';
import type { StepName } from './progress.ts';
import { requestScope } from './request-scope.ts';
import { type Proved, passkeyIn, type StepParts, stale } from './step.ts';
import { formTargetsOf, textsOf, type Unavailable, type Visit } from './visit.ts';

export interface LoginPageParts extends StepParts {
  /** Origin of the issuer. */
  origin: string;
  lock: LockRule;
  /** Address of the form for forgotten passwords; undefined if no mail is sent. */
  forgottenURL: string | undefined;
  passwordCheck: Pick<PasswordCheck, 'check'>;
}

/** First step of a login: a password, or a passkey in place of name, password and second factor. */
export const passwordStep = {
  /** @param email input of the previous attempt */
  show(parts: LoginPageParts, visit: Visit, email?: string, problem?: LoginProblem): Page {
    const { interaction, clientName } = visit;
    const { login_hint: hint } = interaction.params;
    return loginPage(textsOf(parts, visit), {
      client: clientName === parts.views.title ? undefined : clientName,
      email: (email ?? (typeof hint === 'string' ? hint : '')).slice(0, 253),
      ...(problem && { problem }),
      lock: parts.lock,
      passkey: anyPasskey(parts, visit),
      forgottenURL: parts.forgottenURL,
      formTargets: formTargetsOf(visit),
    });
  },

  /** @returns the login with the step that follows, or the page that answers a refused form; @throws StatusError 429, 503, 504 */
  take: (parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<FirstProof | Page> =>
    (form.get('assertion') ?? '') === '' ? takePassword(parts, visit, form) : takePasskey(parts, visit, form),
};

interface FirstProof extends Proved {
  next: StepName;
}

async function takePassword(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<FirstProof | Page> {
  const { ctx, interaction } = visit;
  const email = form.get('email') ?? '';
  const browser = await parts.knownBrowsers.find(ctx);
  const attempt = { email, password: form.get('password') ?? '', browser, ...auditOrigin(ctx) };
  const verdict = await parts.passwordCheck.check(attempt, requestScope().signal);
  if (verdict.outcome !== 'ok') return refuse(parts, visit, email, verdict);
  const { account, passwordChangedAt, isComplete } = verdict;
  const progress = parts.progress.begin(interaction.uid, account, passwordChangedAt);
  return { account, progress, next: isComplete ? 'notices' : 'factor' };
}

async function takePasskey(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<FirstProof | Page> {
  const { ctx, interaction } = visit;
  const given = await passkeyIn(parts, visit, form, '');
  if (given === undefined || !offersPasskeys(parts)) throw stale();
  const verdict = await parts.passkeys.login.logIn(given, auditOrigin(ctx));
  if (verdict.outcome === 'ok') {
    const { account, passwordChangedAt } = verdict;
    return { account, progress: parts.progress.begin(interaction.uid, account, passwordChangedAt, byPasskey), next: 'notices' };
  }
  ctx.status = 403;
  if (verdict.outcome === 'passwordFirst') return passwordStep.show(parts, visit, '', { kind: 'passwordFirst' });
  if (verdict.retryAfterSeconds === undefined) return passwordStep.show(parts, visit, '', { kind: 'passkeyRefused' });
  return refuse(parts, visit, '', { ...verdict, reason: 'TooManyFromSource' });
}

type Refusal = Extract<PasswordVerdict, { outcome: 'refused' }>;

/** Returns the first page with the reason, and sets the status of the answer. */
export function refuse(parts: LoginPageParts, visit: Visit, email: string, verdict: Refusal | Unavailable): Page {
  const { ctx } = visit;
  if (verdict.outcome === 'unavailable') {
    ctx.status = 503;
    ctx.set(verdict.status.headers);
    return passwordStep.show(parts, visit, email, { kind: 'unavailable' });
  }
  const seconds = verdict.retryAfterSeconds;
  ctx.status = seconds === undefined ? 403 : 429;
  if (seconds !== undefined) ctx.set('Retry-After', String(seconds));
  return passwordStep.show(parts, visit, email, seconds === undefined ? { kind: 'refused' } : { kind: 'tooMany', seconds });
}

/** Returns the passkey options for a user who is not known yet, the same for all users; undefined if passkeys are turned off. */
function anyPasskey(parts: LoginPageParts, { interaction }: Visit) {
  if (!offersPasskeys(parts)) return undefined;
  const { text, sealed } = parts.passkeys.challenges.give(interaction.uid, '');
  return { challenge: sealed, options: parts.passkeys.passkeys.requestOptions(text) };
}
