import { auditOrigin } from '../audit/audit.ts';
import { byPasskey } from '../factors/passkey-login.ts';
import type { Factor } from '../factors/store.ts';
import type { Texts } from '../texts/texts.ts';
import type { ChangeVerdict } from '../users/passwords/change.ts';
import type { PasswordCheck, PasswordVerdict } from '../users/passwords/check.ts';
import type { Notice } from '../users/record/schema.ts';
import { typedAddress } from '../users/record/typed-address.ts';
import { factorPage } from './factor-pages.ts';
import { hidden, html, type NewPasswordProblem } from './html.ts';
import { offersPasskeys } from './new-factor-step.ts';
import type { Page } from './page.ts';
import { type LockRule, type LoginProblem, loginPage, newPasswordPage } from './pages.ts';
import { requestScope } from './request-scope.ts';
import {
  aboutUser,
  accountOf,
  formTargetsOf,
  type Progress,
  type Proved,
  passkeyIn,
  proving,
  type Step,
  type StepName,
  type StepParts,
  staleForm,
  textsOf,
  type Unavailable,
  type Visit,
} from './visit.ts';

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
  const email = typedAddress(form.get('email') ?? '');
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
  if (given === undefined || !offersPasskeys(parts)) throw staleForm();
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
  if (verdict.reason === 'SubjectDiffers') {
    ctx.status = 401;
    return passwordStep.show(parts, visit, email, { kind: 'subjectDiffers' });
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

/** Asks for the second factor, if the user has one. */
export const factorStep: Step = {
  show: (parts, visit, { progress }) => missingFactor(parts, visit, progress),

  async take(parts, visit, progress, form) {
    const { factors } = parts;
    if (factors === undefined) throw staleForm();
    const { name, uid, email, sessionsNotBefore } = progress;
    const passkey = await passkeyIn(parts, visit, form, uid);
    const given = passkey ?? form.get('code') ?? '';
    const verdict = await factors.verify({ name, uid, email, sessionsNotBefore }, given, auditOrigin(visit.ctx));
    if (verdict.outcome === 'ok') return { progress: proving(progress, verdict.means), account: verdict.account };
    visit.ctx.status = 403;
    return showFactorForm(parts, visit, progress, await factors.list(progress), passkey === undefined ? 'code' : 'passkey');
  },
};

/**
 * Returns the page that asks for an existing factor; undefined if the user has proved or set up one in this visit, or has none. Another
 * visit may have set up a factor since the password was given: an older form must neither bypass nor replace it.
 *
 * @throws StatusError 503, 504
 */
export async function missingFactor(parts: StepParts, visit: Visit, progress: Progress): Promise<Page | undefined> {
  if (parts.factors === undefined || progress.hasSetUp || progress.amr.includes('mfa')) return undefined;
  const factors = await parts.factors.list(progress);
  return factors.length > 0 ? showFactorForm(parts, visit, progress, factors) : undefined;
}

/** @param was kind of the wrong input, if any */
async function showFactorForm(
  parts: StepParts,
  visit: Visit,
  progress: Progress,
  factors: readonly Factor[],
  was?: 'code' | 'passkey',
): Promise<Page> {
  return factorPage(textsOf(parts, visit), {
    proof: parts.progress.seal(progress, 'factor'),
    isWrong: was !== undefined,
    was: was ?? 'code',
    passkey: await passkeyOptions(parts, visit, progress, factors),
    hasApp: factors.some(({ type }) => type === 'TOTP'),
    formTargets: formTargetsOf(visit),
  });
}

/** Returns options for the user's passkeys; undefined if none is valid on this host. */
async function passkeyOptions({ passkeys: parts }: StepParts, { interaction }: Visit, { uid }: Progress, factors: readonly Factor[]) {
  const credentials = (await parts?.passkeys.credentialsIn(factors)) ?? [];
  if (parts === undefined || credentials.length === 0) return undefined;
  const { text, sealed } = parts.challenges.give(interaction.uid, uid);
  return { challenge: sealed, options: parts.passkeys.requestOptions(text, credentials) };
}

/** Asks for a new password, if the password must be changed. */
export const newPasswordStep: Step = {
  show: async (parts, visit, { progress, account }) => (account.mustChangePassword ? changePage(parts, visit, progress) : undefined),

  async take(parts, visit, progress, form) {
    const verdict = await change(parts, progress, form);
    if (verdict.outcome === 'overtaken') throw staleForm();
    if (verdict.outcome === 'refused') {
      visit.ctx.status = 422;
      return changePage(parts, visit, progress, verdict.problem);
    }
    const { account } = verdict;
    parts.services.audit.record({ audit: 'PasswordChanged', ...aboutUser(visit, account), outcome: 'success' });
    return { progress, account };
  },
};

/** Result of a form with a new password. */
type NewPasswordVerdict = Exclude<ChangeVerdict, { outcome: 'refused' }> | { outcome: 'refused'; problem: NewPasswordProblem };

async function change({ passwordChange }: StepParts, progress: Progress, form: URLSearchParams): Promise<NewPasswordVerdict> {
  const password = form.get('new_password') ?? '';
  if (form.get('new_password_again') !== password) return { outcome: 'refused', problem: 'Different' };
  return passwordChange.change(progress, password);
}

function changePage(parts: StepParts, visit: Visit, progress: Progress, problem?: NewPasswordProblem): Page {
  const { minLength } = parts.services.config.users.passwordPolicy;
  const form = { email: progress.email, proof: parts.progress.seal(progress, 'newPassword'), minLength, formTargets: formTargetsOf(visit) };
  return newPasswordPage(textsOf(parts, visit), { ...form, ...(problem && { problem }) });
}

/** Shows the notices about the user's credentials since the last login, and deletes those that the user has confirmed. */
export const noticesStep: Step = {
  async show(parts, visit, { progress }) {
    const { notices } = progress;
    if (notices === undefined) return undefined;
    const proof = parts.progress.seal(progress, 'notices');
    return noticesPage(textsOf(parts, visit), { proof, notices, formTargets: formTargetsOf(visit) });
  },

  async take(parts, _visit, { notices = [], ...progress }) {
    const account = accountOf(parts, progress);
    await parts.notices.remove(account, notices);
    return { progress, account };
  },
};

interface NoticesForm {
  /** Sealed proof of the previous steps. */
  proof: string;
  /** Oldest first. */
  notices: readonly Notice[];
  formTargets: readonly string[];
}

function noticesPage(texts: Texts, { proof, notices, formTargets }: NoticesForm): Page {
  const format = new Intl.DateTimeFormat(texts.tag, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return {
    texts,
    heading: texts.t('identity.notices.page.title'),
    formTargets,
    content: html`<p>${texts.t('identity.notices.page.lead')}</p>
<ul class="notices">${notices.toReversed().map(({ type, time }) => html`<li>${texts.t(`identity.notices.titles.${type}`)}<br><span class="faint">${format.format(new Date(time))} UTC</span></li>`)}</ul>
<p>${texts.t('identity.notices.page.notYou')}</p>
<form method="post">
${hidden('proof', proof)}
<button name="noticed" value="yes">${texts.t('identity.notices.page.proceed')}</button>
</form>`,
  };
}
