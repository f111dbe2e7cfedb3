import { hidden, newPasswordFields, problemText } from './form-parts.ts';
import { type Html, html } from './html.ts';
import { durationText } from './languages.ts';
import { logoutScript } from './logout-script.ts';
import type { Page } from './page.ts';
import { type PasskeyForm, passkeyForm } from './passkey-form.ts';
import { passkeyScript } from './passkey-script.ts';
import type { NewPasswordProblem, Texts } from './texts.ts';

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
    heading: texts.logIn,
    isFailure: problem !== undefined,
    formTargets,
    script: passkey && passkeyScript,
    content: html`${problem && problemText(explain(texts, problem, lock))}
${client !== undefined && html`<p>${texts.logInTo(client)}</p>`}
<form method="post" id="by-password">
<label for="email">${texts.email}</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="253" required${!isKnown && html` autofocus`} value="${email}"${marks}>
<label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${isKnown && html` autofocus`}${marks}>
<button>${texts.logIn}</button>
</form>
${passkey && passkeyForm(texts, { kind: 'get', ...passkey, label: texts.passkeys.logIn })}
<button class="second" form="by-password" name="cancel" value="yes" formnovalidate>${texts.cancel}</button>
<p class="faint">${forgottenURL === undefined ? texts.forgotten : html`<a href="${forgottenURL}">${texts.links.question}</a>`}</p>`,
  };
}

/** The same for every reason, so that it tells nothing about an account; how long a lock lasts is said to all alike. */
export function explain(texts: Texts, problem: LoginProblem, { failures, windowSeconds, durationSeconds }: LockRule): Html | string {
  if (problem.kind === 'tooMany') return texts.tooMany(durationText(texts, problem.seconds));
  if (problem.kind === 'unavailable') return texts.unavailable;
  if (problem.kind === 'passkeyRefused') return texts.passkeys.refusedAlone;
  if (problem.kind === 'passwordFirst') return texts.passkeys.passwordFirst;
  const rule = texts.lockRule(failures, durationText(texts, windowSeconds), durationText(texts, durationSeconds));
  return html`<p>${texts.refused}</p><p>${rule}</p>`;
}

export const consentPage = (texts: Texts, client: string, formTargets: readonly string[]): Page => ({
  texts,
  heading: texts.consentTitle,
  formTargets,
  content: html`<p>${texts.consent(client)}</p>
<form method="post">
<button>${texts.proceed}</button>
<button class="second" name="cancel" value="yes">${texts.cancel}</button>
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
    heading: texts.dueTitle,
    isFailure: problem !== undefined,
    formTargets,
    content: html`${problem !== undefined && problemText(texts.newPasswordProblems[problem])}
<p>${texts.due(email)}</p>
<form method="post">
${hidden('proof', proof)}
${newPasswordFields(texts, { email, minLength, isWrong: problem !== undefined })}
<button>${texts.setPassword}</button>
<button class="second" name="cancel" value="yes" formnovalidate>${texts.cancel}</button>
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
  heading: texts.logOut,
  formTargets,
  content: html`<p>${texts.logOutQuestion}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
<button name="logout" value="yes">${texts.logOut}</button>
</form>
<p><a class="button second" href="${stayURL}">${texts.stay}</a></p>`,
});

/** For a user whom the ID token of the request names: the page sends itself. */
export const hintedLogoutPage = (texts: Texts, { action, secret }: ProviderForm, formTargets: readonly string[]): Page => ({
  texts,
  heading: texts.logOut,
  formTargets,
  script: logoutScript,
  content: html`<form method="post" action="${action}">
${hidden('xsrf', secret)}
<button name="logout" value="yes">${texts.proceed}</button>
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
  heading: isSwitch ? texts.switchTitle : texts.logOut,
  formTargets,
  content: html`<p>${isSwitch ? texts.switchText : texts.logOutNobody}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
<button name="logout" value="yes">${texts.proceed}</button>
</form>`,
});

export const donePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.doneTitle,
  content: html`<p>${texts.done}</p>
<p><a class="button" href="${consoleURL}">${texts.toConsole}</a></p>`,
});

export function deviceCodePage(texts: Texts, { action, secret }: ProviderForm, code: string, problem?: string): Page {
  return {
    texts,
    heading: texts.deviceTitle,
    isFailure: problem !== undefined,
    content: html`${problem !== undefined && problemText(problem)}
<p>${texts.device}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
<label for="code">${texts.deviceCode}</label>
<input id="code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" required autofocus value="${code}"${problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`}>
<button>${texts.proceed}</button>
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
  heading: texts.deviceConfirmTitle,
  content: html`<p>${texts.deviceConfirm(client)}</p>
<p class="code">${code}</p>
${begun && html`<p>${texts.deviceBegun(durationText(texts, begun.secondsAgo), begun.address)}</p>`}
<p class="bad">${begun?.isElsewhere && html`${texts.deviceElsewhere} `}${texts.deviceWarning}</p>
<form method="post" action="${action}">
${hidden('xsrf', secret)}
${hidden('user_code', code)}
<button name="confirm" value="yes">${texts.proceed}</button>
<button class="second" name="abort" value="yes">${texts.cancel}</button>
</form>`,
});

export const deviceDonePage = (texts: Texts): Page => ({
  texts,
  heading: texts.doneTitle,
  content: html`<p role="status">${texts.deviceDone}</p>`,
});

export const failurePage = (texts: Texts, text: string, detail: string | undefined, consoleURL: string): Page => ({
  texts,
  heading: texts.failedTitle,
  isFailure: true,
  content: html`<p role="alert">${text}</p>
${detail !== undefined && html`<p class="faint">${texts.details}: ${detail}</p>`}
<p><a class="button" href="${consoleURL}">${texts.toConsole}</a></p>`,
});
