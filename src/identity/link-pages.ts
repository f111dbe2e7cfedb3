import type { LinkKind } from '../one-time-links/links.ts';
import type { Texts } from '../texts/texts.ts';
import { type Html, html, type NewPasswordProblem, newPasswordFields, problemText } from './html.ts';
import type { Page } from './page.ts';

interface LinkForm {
  kind: Exclude<LinkKind, 'enrol'>;
  email: string;
  /** Title of the installation. */
  client: string;
  problem?: NewPasswordProblem;
  minLength: number;
}

/** Asks the user of a link for a new password. */
export const linkPasswordPage = (texts: Texts, { kind, email, client, problem, minLength }: LinkForm): Page => ({
  texts,
  heading: texts.t(`identity.links.titles.${kind}`),
  isFailure: problem !== undefined,
  isSecretAddress: true,
  content: html`${problem !== undefined && problemText(texts.t(`identity.newPasswordProblems.${problem}`))}
<p>${texts.t(`identity.links.leads.${kind}`, { email, client })}</p>
<form method="post">
${newPasswordFields(texts, { email, minLength, isWrong: problem !== undefined })}
<button>${texts.t('identity.links.set')}</button>
</form>`,
});

interface EnrolForm {
  email: string;
  problem: Html | string | undefined;
}

/** Asks the user of a link for the current password: the link alone cannot set up a second factor. */
export const linkEnrolPage = (texts: Texts, { email, problem }: EnrolForm): Page => ({
  texts,
  heading: texts.t('identity.links.titles.enrol'),
  isFailure: problem !== undefined,
  isSecretAddress: true,
  content: html`${problem !== undefined && problemText(problem)}
<p>${texts.t('identity.links.leads.enrol', { email })}</p>
<p>${texts.t('identity.links.replaces')}</p>
<form method="post">
<input type="text" name="email" autocomplete="username" value="${email}" readonly hidden>
<label for="password">${texts.t('identity.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required autofocus${problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`}>
<button>${texts.t('identity.proceed')}</button>
</form>`,
});

export const linkDonePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.links.doneTitle'),
  isSecretAddress: true,
  content: html`<p role="status">${texts.t('identity.links.done')}</p>
<p><a class="button" href="${consoleURL}">${texts.t('identity.logIn')}</a></p>`,
});

/** @param forgottenURL undefined if no mail is sent */
export const linkGonePage = (texts: Texts, consoleURL: string, forgottenURL: string | undefined): Page => ({
  texts,
  heading: texts.t('identity.links.goneTitle'),
  isFailure: true,
  isSecretAddress: true,
  content: html`<p role="alert">${texts.t('identity.links.gone')}</p>
${forgottenURL !== undefined && html`<p><a class="button" href="${forgottenURL}">${texts.t('identity.links.askAgain')}</a></p>`}
<p><a class="button${forgottenURL !== undefined && ' second'}" href="${consoleURL}">${texts.t('identity.toConsole')}</a></p>`,
});

export const forgottenPage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.links.forgottenTitle'),
  content: html`<p>${texts.t('identity.links.forgotten')}</p>
<form method="post">
<label for="email">${texts.t('identity.email')}</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="253" required autofocus>
<button>${texts.t('identity.links.send')}</button>
</form>
<p><a class="button second" href="${consoleURL}">${texts.t('identity.cancel')}</a></p>`,
});

/** Answers every address with the same page, so that it does not reveal whether an account exists. */
export const forgottenSentPage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.links.sentTitle'),
  content: html`<p role="status">${texts.t('identity.links.sent')}</p>
<p>${texts.t('identity.links.notThere')}</p>
<p><a class="button" href="${consoleURL}">${texts.t('identity.toConsole')}</a></p>`,
});

export const noMailPage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.links.forgottenTitle'),
  content: html`<p>${texts.t('identity.links.askAdministrator')}</p>
<p><a class="button" href="${consoleURL}">${texts.t('identity.toConsole')}</a></p>`,
});
