import type { LinkKind } from '../links/link.ts';
import { newPasswordFields, problemText } from './form-parts.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import type { NewPasswordProblem, Texts } from './texts.ts';

interface LinkForm {
  kind: LinkKind;
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

export const linkDonePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.links.doneTitle,
  isSecretAddress: true,
  content: html`<p role="status">${texts.links.done}</p>
<p><a class="button" href="${consoleURL}">${texts.logIn}</a></p>`,
});

export const linkGonePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.links.goneTitle,
  isFailure: true,
  isSecretAddress: true,
  content: html`<p role="alert">${texts.links.gone}</p>
<p><a class="button" href="${consoleURL}">${texts.toConsole}</a></p>`,
});
