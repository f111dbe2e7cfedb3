import { encode } from 'uqr';
import { hidden, problemText } from './form-parts.ts';
import { type Html, html } from './html.ts';
import type { Page } from './page.ts';
import type { Texts } from './texts.ts';

interface Form {
  /** What was proved before. */
  proof: string;
  isWrong: boolean;
  formTargets: readonly string[];
}

const codeField = (label: string, isWrong: boolean): Html => html`<label for="code">${label}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="64" required autofocus${isWrong && html` aria-invalid="true" aria-describedby="problem"`}>`;

/** Asks for the second factor, after the right password. */
export const factorPage = (texts: Texts, { proof, isWrong, formTargets }: Form): Page => ({
  texts,
  heading: texts.factors.title,
  isFailure: isWrong,
  formTargets,
  content: html`${isWrong && problemText(texts.factors.refused)}
<p>${texts.factors.ask}</p>
<form method="post">
${hidden('proof', proof)}
${codeField(texts.factors.code, isWrong)}
<button>${texts.proceed}</button>
<button class="second" name="cancel" value="yes" formnovalidate>${texts.cancel}</button>
</form>
<p class="faint">${texts.factors.lost}</p>`,
});

interface SetUpForm extends Form {
  /** base32 */
  secret: string;
  /** What an app reads from the picture. */
  url: string;
  /** Whether the login may go on without it, and until when where it is required. */
  later: { until: Date | undefined } | undefined;
}

/** Sets up an app. */
export const setUpPage = (texts: Texts, { proof, isWrong, secret, url, later, formTargets }: SetUpForm): Page => ({
  texts,
  heading: texts.factors.setUpTitle,
  isFailure: isWrong,
  formTargets,
  content: html`${isWrong && problemText(texts.factors.wrongCode)}
${later?.until && html`<p>${texts.factors.due(new Intl.DateTimeFormat(texts.tag, { dateStyle: 'long', timeZone: 'UTC' }).format(later.until))}</p>`}
<p>${texts.factors.setUp}</p>
${picture(url, texts.factors.picture)}
<p>${texts.factors.secret}</p>
<p class="key">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</p>
<form method="post">
${hidden('proof', proof)}
${codeField(texts.factors.confirm, isWrong)}
<button>${texts.factors.save}</button>
${later && html`<button class="second" name="later" value="yes" formnovalidate>${texts.factors.later}</button>`}
</form>`,
});

/** Shows the codes for paper, once. */
export const codesPage = (texts: Texts, { proof, codes, formTargets }: Omit<Form, 'isWrong'> & { codes: readonly string[] }): Page => ({
  texts,
  heading: texts.factors.codesTitle,
  formTargets,
  content: html`<p>${texts.factors.codes}</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
<form method="post">
${hidden('proof', proof)}
<button>${texts.factors.kept}</button>
</form>`,
});

/** The time to set one up is over. */
export const overduePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.factors.overdueTitle,
  isFailure: true,
  content: html`<p role="alert">${texts.factors.overdue}</p>
<p><a class="button" href="${consoleURL}">${texts.toConsole}</a></p>`,
});

/** Drawn in the page itself, as no other host may learn what is in it. */
function picture(url: string, label: string): Html {
  const { data, size } = encode(url, { border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path d="${path}"/></svg>`;
}
