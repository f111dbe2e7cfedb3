import type { Texts } from '../texts/texts.ts';
import { type PasskeyForm, passkeyForm, passkeyScript } from './factor-pages.ts';
import { type Html, hidden, html, type NewPasswordProblem, newPasswordFields, problemText } from './html.ts';
import { durationText, type Page } from './page.ts';

/** Rule by which wrong passwords lock an account. */
export interface LockRule {
  failures: number;
  windowSeconds: number;
  durationSeconds: number;
}

export type LoginProblem =
  | { kind: 'refused' | 'passkeyRefused' | 'passwordFirst' | 'subjectDiffers' }
  | { kind: 'tooMany'; seconds: number }
  | { kind: 'unavailable' };

interface LoginForm {
  /** Name of the relying party; undefined if it equals the title of the page. */
  client: string | undefined;
  /** Input of the previous attempt, or the login hint of the relying party. */
  email: string;
  problem?: LoginProblem;
  lock: LockRule;
  /** Undefined if passkeys are turned off. */
  passkey: Pick<PasskeyForm, 'options' | 'challenge'> | undefined;
  /** Undefined if no mail is sent. */
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

/** Explains a problem. A refusal has the same text for every reason, with the lock rule, so that it reveals nothing about an account. */
export function explain(texts: Texts, problem: LoginProblem, { failures, windowSeconds, durationSeconds }: LockRule): Html | string {
  if (problem.kind === 'tooMany') return texts.t('identity.tooMany', { wait: durationText(texts, problem.seconds) });
  if (problem.kind === 'unavailable') return texts.t('identity.unavailable');
  if (problem.kind === 'passkeyRefused') return texts.t('identity.passkeys.refusedAlone');
  if (problem.kind === 'subjectDiffers') return texts.t('identity.subjectDiffers');
  if (problem.kind === 'passwordFirst') return texts.t('identity.passkeys.passwordFirst');
  const rule = texts.t('identity.lockRule', {
    failures,
    window: durationText(texts, windowSeconds),
    duration: durationText(texts, durationSeconds),
  });
  return html`<p>${texts.t('identity.refused')}</p><p>${rule}</p>`;
}

interface ConsentForm {
  /** Name of the relying party. */
  client: string;
  /** Address of the user who is logged in. */
  email: string;
  formTargets: readonly string[];
}

export const consentPage = (texts: Texts, { client, email, formTargets }: ConsentForm): Page => ({
  texts,
  heading: texts.t('identity.consentTitle'),
  formTargets,
  content: html`<p>${texts.t('identity.consent', { client, email })}</p>
<form method="post">
<button>${texts.t('identity.proceed')}</button>
<button class="second" name="cancel" value="yes">${texts.t('identity.cancel')}</button>
</form>`,
});

interface AgentForm {
  /** Name that the client gives itself. */
  client: string;
  /** Host that describes the client; '' for a client of the configuration. */
  host: string;
  /** Host to which the browser returns; undefined for the user's own machine. */
  returnHost: string | undefined;
  /** Changes without a confirmation, such as `patch deployments.apps (shop)`. */
  changes: readonly string[];
  /** Address of the user who is logged in. */
  email: string;
  formTargets: readonly string[];
}

/** Asks whether a program may read as the user. */
export const agentPage = (texts: Texts, { client, host, returnHost, changes, email, formTargets }: AgentForm): Page => ({
  texts,
  heading: texts.t('identity.agents.title'),
  formTargets,
  content: html`<p>${texts.t('identity.agents.who', { client, email })}</p>
<p>${host === '' ? texts.t('identity.agents.configured') : texts.t('identity.agents.host', { host })}</p>
<p>${texts.t('identity.agents.may')}</p>
${changes.length > 0 && html`<p class="bad">${texts.t('identity.agents.direct')}</p><ul>${changes.map((change) => html`<li><code>${change}</code></li>`)}</ul>`}
<p class="bad">${returnHost === undefined ? texts.t('identity.agents.here') : texts.t('identity.agents.back', { host: returnHost })}</p>
<form method="post">
<button>${texts.t('identity.agents.allow')}</button>
<button class="second" name="cancel" value="yes">${texts.t('identity.cancel')}</button>
</form>
<p class="faint">${texts.t('identity.agents.ends')}</p>`,
});

interface NewPasswordForm {
  email: string;
  /** Sealed proof that the old password was correct. */
  proof: string;
  problem?: NewPasswordProblem;
  minLength: number;
  formTargets: readonly string[];
}

/** Asks for a new password during a login, if the password must be changed. */
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

/** Form that the provider accepts by its secret. */
export interface ProviderForm {
  action: string;
  secret: string;
}

/** @param stayURL address for a user who stays logged in: no session ends, here or at the relying party */
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

/** Submits the form of a logout that needs no confirmation. Users press its button if scripts are turned off. */
const logoutScript = `document.querySelector('button[name="logout"]').click();\n`;

/** Logs out the user whom the ID token hint names: the page submits itself. */
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

/** Ends a session, or its remains, before the provider continues. Replaces the page of the provider, which needs a script. */
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

/** Device that asks for a login. Its description of itself is omitted, because a page must not show a stranger's text. */
export interface AskingDevice {
  /** Name of the relying party. */
  client: string;
  /** Address of the user who is logged in; undefined if a login follows. */
  email: string | undefined;
  /** User code, as the device shows it. */
  code: string;
  /** Time and address of the device's request; undefined if they are not known. */
  begun: { secondsAgo: number; address: string; isElsewhere: boolean } | undefined;
}

export const deviceConfirmPage = (texts: Texts, { action, secret }: ProviderForm, { client, email, code, begun }: AskingDevice): Page => ({
  texts,
  heading: texts.t('identity.deviceConfirmTitle'),
  content: html`<p>${email === undefined ? texts.t('identity.deviceConfirm', { client }) : texts.t('identity.deviceConfirmAs', { client, email })}</p>
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
