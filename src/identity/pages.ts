import type { Texts } from '../texts/texts.ts';
import { hidden, type NewPasswordProblem, newPasswordFields, problemText } from './form-parts.ts';
import { type Html, html } from './html.ts';
import { durationText } from './languages.ts';
import { logoutScript } from './logout-script.ts';
import type { Page } from './page.ts';
import { type PasskeyForm, passkeyForm } from './passkey-form.ts';
import { passkeyScript } from './passkey-script.ts';

/** When wrong passwords lock an account. */
export interface LockRule {
  failures: number;
  windowSeconds: number;
  durationSeconds: number;
}

export type LoginProblem =
  | { kind: 'refused' | 'passkeyRefused' | 'passwordFirst' }
  | { kind: 'tooMany'; seconds: number }
  | { kind: 'unavailable' };

interface LoginForm {
  /** Name of the relying party; undefined if the page is known by the same. */
  client: string | undefined;
  /** What was typed before, or what the relying party supposes. */
  email: string;
  problem?: LoginProblem;
  lock: LockRule;
  /** Where passkeys are on. */
  passkey: Pick<PasskeyForm, 'options' | 'challenge'> | undefined;
  /** Undefined where no mail is sent. */
  forgottenURL: string | undefined;
  formTargets: readonly string[];
}

export function loginPage(texts: Texts, { client, email, problem, lock, passkey, forgottenURL, formTargets }: LoginForm): Page {
  const marks = problem?.kind === 'refused' && html` aria-invalid="true" aria-describedby="problem"`;
  const isKnown = email !== '';
  return {
    texts,
    heading: texts.t('identity.logIn'),
    isFailure: problem !== undefined,
    formTargets,
    script: passkey && passkeyScript,
    content: html`${problem && problemText(explain(texts, problem, lock))}
${client !== undefined && html`<p>${texts.t('identity.logInTo', { client })}</p>`}
<form method="post" id="by-password">
<label for="email">${texts.t('identity.email')}</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="253" required${!isKnown && html` autofocus`} value="${email}"${marks}>
<label for="password">${texts.t('identity.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${isKnown && html` autofocus`}${marks}>
<button>${texts.t('identity.logIn')}</button>
</form>
${passkey && passkeyForm(texts, { kind: 'get', ...passkey, label: texts.t('identity.passkeys.logIn') })}
<button class="second" form="by-password" name="cancel" value="yes" formnovalidate>${texts.t('identity.cancel')}</button>
<p class="faint">${forgottenURL === undefined ? texts.t('identity.forgotten') : html`<a href="${forgottenURL}">${texts.t('identity.links.question')}</a>`}</p>`,
  };
}

/** The same for every reason, so that it tells nothing about an account; how long a lock lasts is said to all alike. */
export function explain(texts: Texts, problem: LoginProblem, { failures, windowSeconds, durationSeconds }: LockRule): Html | string {
  if (problem.kind === 'tooMany') return texts.t('identity.tooMany', { wait: durationText(texts, problem.seconds) });
  if (problem.kind === 'unavailable') return texts.t('identity.unavailable');
  if (problem.kind === 'passkeyRefused') return texts.t('identity.passkeys.refusedAlone');
  if (problem.kind === 'passwordFirst') return texts.t('identity.passkeys.passwordFirst');
  const rule = texts.t('identity.lockRule', {
    failures,
    window: durationText(texts, windowSeconds),
    duration: durationText(texts, durationSeconds),
  });
  return html`<p>${texts.t('identity.refused')}</p><p>${rule}</p>`;
}

export const consentPage = (texts: Texts, client: string, formTargets: readonly string[]): Page => ({
  texts,
  heading: texts.t('identity.consentTitle'),
  formTargets,
  content: html`<p>${texts.t('identity.consent', { client })}</p>
<form method="post">
<button>${texts.t('identity.proceed')}</button>
<button class="second" name="cancel" value="yes">${texts.t('identity.cancel')}</button>
</form>`,
});

interface NewPasswordForm {
  email: string;
  /** Says that the old one was right. */
  proof: string;
  problem?: NewPasswordProblem;
  minLength: number;
  formTargets: readonly string[];
}

/** In place of a login with a password that is due. */
export function newPasswordPage(texts: Texts, { email, proof, problem, minLength, formTargets }: NewPasswordForm): Page {
  return {
    texts,
    heading: texts.t('identity.dueTitle'),
    isFailure: problem !== undefined,
    formTargets,
    content: html`${problem !== undefined && problemText(texts.t(`identity.newPasswordProblems.${problem}`))}
<p>${texts.t('identity.due', { email })}</p>
<form method="post">
${hidden('proof', proof)}
${newPasswordFields(texts, { email, minLength, isWrong: problem !== undefined })}
<button>${texts.t('identity.setPassword')}</button>
<button class="second" name="cancel" value="yes" formnovalidate>${texts.t('identity.cancel')}</button>
</form>`,
  };
}

/** A form of the provider's, which knows it by its secret. */
export interface ProviderForm {
  action: string;
  secret: string;
}

/** @param stayURL where to go for a person who stays: nothing ends, here or there */
export const logoutPage = (texts: Texts, { action, secret }: ProviderForm, stayURL: string, formTargets: readonly string[]): Page => ({
  texts,
  heading: texts.t('identity.logOut'),
  formTargets,
  content: html`<p>${texts.t('identity.logOutQuestion')}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
<button name="logout" value="yes">${texts.t('identity.logOut')}</button>
</form>
<p><a class="button second" href="${stayURL}">${texts.t('identity.stay')}</a></p>`,
});

/** For a user whom the ID token of the request names: the page sends itself. */
export const hintedLogoutPage = (texts: Texts, { action, secret }: ProviderForm, formTargets: readonly string[]): Page => ({
  texts,
  heading: texts.t('identity.logOut'),
  formTargets,
  script: logoutScript,
  content: html`<form method="post" action="${action}">
${hidden('xsrf', secret)}
<button name="logout" value="yes">${texts.t('identity.proceed')}</button>
</form>`,
});

/** The provider ends a session, or what is left of one, before it goes on; in place of its own page, which needs a script. */
export const endSessionPage = (
  texts: Texts,
  { action, secret }: ProviderForm,
  isSwitch: boolean,
  formTargets: readonly string[],
): Page => ({
  texts,
  heading: isSwitch ? texts.t('identity.switchTitle') : texts.t('identity.logOut'),
  formTargets,
  content: html`<p>${isSwitch ? texts.t('identity.switchText') : texts.t('identity.logOutNobody')}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
<button name="logout" value="yes">${texts.t('identity.proceed')}</button>
</form>`,
});

export const donePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.doneTitle'),
  content: html`<p>${texts.t('identity.done')}</p>
<p><a class="button" href="${consoleURL}">${texts.t('identity.toConsole')}</a></p>`,
});

export function deviceCodePage(texts: Texts, { action, secret }: ProviderForm, code: string, problem?: string): Page {
  return {
    texts,
    heading: texts.t('identity.deviceTitle'),
    isFailure: problem !== undefined,
    content: html`${problem !== undefined && problemText(problem)}
<p>${texts.t('identity.device')}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
<label for="code">${texts.t('identity.deviceCode')}</label>
<input id="code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" required autofocus value="${code}"${problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`}>
<button>${texts.t('identity.proceed')}</button>
</form>`,
  };
}

/** A device that asks to be logged in. What it says of itself is no part of it: a page must not hold words of a stranger. */
export interface AskingDevice {
  /** Name of the relying party. */
  client: string;
  /** As the device shows it. */
  code: string;
  /** When and where it was begun; undefined if that is not known. */
  begun: { secondsAgo: number; address: string; isElsewhere: boolean } | undefined;
}

export const deviceConfirmPage = (texts: Texts, { action, secret }: ProviderForm, { client, code, begun }: AskingDevice): Page => ({
  texts,
  heading: texts.t('identity.deviceConfirmTitle'),
  content: html`<p>${texts.t('identity.deviceConfirm', { client })}</p>
<p class="code">${code}</p>
${begun && html`<p>${texts.t('identity.deviceBegun', { ago: durationText(texts, begun.secondsAgo), address: begun.address })}</p>`}
<p class="bad">${begun?.isElsewhere && html`${texts.t('identity.deviceElsewhere')} `}${texts.t('identity.deviceWarning')}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
${hidden('user_code', code)}
<button name="confirm" value="yes">${texts.t('identity.proceed')}</button>
<button class="second" name="abort" value="yes">${texts.t('identity.cancel')}</button>
</form>`,
});

export const deviceDonePage = (texts: Texts): Page => ({
  texts,
  heading: texts.t('identity.doneTitle'),
  content: html`<p role="status">${texts.t('identity.deviceDone')}</p>`,
});

export const failurePage = (texts: Texts, text: string, detail: string | undefined, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.failedTitle'),
  isFailure: true,
  content: html`<p role="alert">${text}</p>
${detail !== undefined && html`<p class="faint">${texts.t('identity.details')}: ${detail}</p>`}
<p><a class="button" href="${consoleURL}">${texts.t('identity.toConsole')}</a></p>`,
});
