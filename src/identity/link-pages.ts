import type { LinkKind } from '../links/link.ts';
import { newPasswordFields, problemText } from './form-parts.ts';
import { type Html, html } from './html.ts';
import type { Page } from './page.ts';
import type { NewPasswordProblem, Texts } from './texts.ts';

interface LinkForm {
  kind: Exclude<LinkKind, 'enrol'>;
  email: string;
  /** What the installation is called. */
  client: string;
  problem?: NewPasswordProblem;
  minLength: number;
}

/** Asks the user of a link for a password. */
export const linkPasswordPage = (texts: Texts, { kind, email, client, problem, minLength }: LinkForm): Page => ({
  texts,
  heading: texts.links.titles[kind],
  isFailure: problem !== undefined,
  isSecretAddress: true,
  content: html`${problem !== undefined && problemText(texts.newPasswordProblems[problem])}
<p>${texts.links.leads[kind](email, client)}</p>
<form method="post">
${newPasswordFields(texts, { email, minLength, isWrong: problem !== undefined })}
<button>${texts.links.set}</button>
</form>`,
});

interface EnrolForm {
  email: string;
  /** What the installation is called. */
  client: string;
  problem: Html | string | undefined;
}

/** Asks the user of a link for the password that there is: the link alone sets up no second factor. */
export const linkEnrolPage = (texts: Texts, { email, client, problem }: EnrolForm): Page => ({
  texts,
  heading: texts.links.titles.enrol,
  isFailure: problem !== undefined,
  isSecretAddress: true,
  content: html`${problem !== undefined && problemText(problem)}
<p>${texts.links.leads.enrol(email, client)}</p>
<p>${texts.links.replaces}</p>
<form method="post">
<input type="text" name="email" autocomplete="username" value="${email}" readonly hidden>
<label for="password">${texts.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required autofocus${problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`}>
<button>${texts.proceed}</button>
</form>`,
});

export const linkDonePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.links.doneTitle,
  isSecretAddress: true,
  content: html`<p role="status">${texts.links.done}</p>
<p><a class="button" href="${consoleURL}">${texts.logIn}</a></p>`,
});

/** @param forgottenURL undefined where no mail is sent */
export const linkGonePage = (texts: Texts, consoleURL: string, forgottenURL: string | undefined): Page => ({
  texts,
  heading: texts.links.goneTitle,
  isFailure: true,
  isSecretAddress: true,
  content: html`<p role="alert">${texts.links.gone}</p>
${forgottenURL !== undefined && html`<p><a class="button" href="${forgottenURL}">${texts.links.askAgain}</a></p>`}
<p><a class="button${forgottenURL !== undefined && ' second'}" href="${consoleURL}">${texts.toConsole}</a></p>`,
});

export const forgottenPage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.links.forgottenTitle,
  content: html`<p>${texts.links.forgotten}</p>
<form method="post">
<label for="email">${texts.email}</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="253" required autofocus>
<button>${texts.links.send}</button>
</form>
<p><a class="button second" href="${consoleURL}">${texts.cancel}</a></p>`,
});

/** The same for every address, so that it tells of none whether there is such an account. */
export const forgottenSentPage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.links.sentTitle,
  content: html`<p role="status">${texts.links.sent}</p>
<p>${texts.links.notThere}</p>
<p><a class="button" href="${consoleURL}">${texts.toConsole}</a></p>`,
});

export const noMailPage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.links.forgottenTitle,
  content: html`<p>${texts.links.askAdministrator}</p>
<p><a class="button" href="${consoleURL}">${texts.toConsole}</a></p>`,
});
