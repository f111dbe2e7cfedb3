import { encode } from 'uqr';
import type { Texts } from '../texts/texts.ts';
import { type Html, hidden, html, problemText } from './html.ts';
import type { Page } from './page.ts';
import { type PasskeyForm, passkeyForm, passkeyScript } from './passkey-form.ts';

interface Form {
  /** Sealed proof of the previous steps. */
  proof: string;
  isWrong: boolean;
  formTargets: readonly string[];
}

interface FactorForm extends Form {
  /** Options for the user's passkeys. */
  passkey: Pick<PasskeyForm, 'options' | 'challenge'> | undefined;
  hasApp: boolean;
  /** Kind of the wrong input. */
  was: 'code' | 'passkey';
}

const codeField = (label: string, isWrong: boolean): Html => html`<label for="code">${label}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="64" required autofocus${isWrong && html` aria-invalid="true" aria-describedby="problem"`}>`;

/** Asks for the second factor, after the correct password. */
export const factorPage = (texts: Texts, { proof, isWrong, was, passkey, hasApp, formTargets }: FactorForm): Page => ({
  texts,
  heading: texts.t('identity.factors.title'),
  isFailure: isWrong,
  formTargets,
  script: passkey && passkeyScript,
  content: html`${isWrong && problemText(was === 'passkey' ? texts.t('identity.passkeys.refused') : texts.t('identity.factors.refused'))}
<p>${passkey === undefined ? texts.t('identity.factors.ask') : hasApp ? texts.t('identity.passkeys.askOrCode') : texts.t('identity.passkeys.ask')}</p>
${passkey && passkeyForm(texts, { kind: 'get', ...passkey, proof, label: texts.t('identity.passkeys.use'), isMain: true })}
<form method="post">
${hidden('proof', proof)}
${codeField(texts.t('identity.factors.code'), isWrong && was === 'code')}
<button${passkey && html` class="second"`}>${texts.t('identity.proceed')}</button>
<button class="second" name="cancel" value="yes" formnovalidate>${texts.t('identity.cancel')}</button>
</form>
<p class="faint">${texts.t('identity.factors.lost')}</p>`,
});

interface SetUpForm extends Form {
  /** base32 */
  secret: string;
  /** URL that an app reads from the QR code. */
  url: string;
  /** Postponement of setup: undefined if it is not possible, with `until` if setup is mandatory. */
  later: Later;
  /** Offers to set up a passkey instead. */
  mayBePasskey: boolean;
}

type Later = { until: Date | undefined } | undefined;

/** Sets up an app. */
export const setUpPage = (texts: Texts, { proof, isWrong, secret, url, later, mayBePasskey, formTargets }: SetUpForm): Page => ({
  texts,
  heading: texts.t('identity.factors.setUpTitle'),
  isFailure: isWrong,
  formTargets,
  content: html`${isWrong && problemText(texts.t('identity.factors.wrongCode'))}
${dueText(texts, later)}
<p>${texts.t('identity.factors.setUp')}</p>
${picture(url, texts.t('identity.factors.picture'))}
<p>${texts.t('identity.factors.secret')}</p>
<p class="key">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</p>
<form method="post">
${hidden('proof', proof)}
${codeField(texts.t('identity.factors.confirm'), isWrong)}
<button>${texts.t('identity.factors.save')}</button>
${mayBePasskey && insteadButton(texts.t('identity.passkeys.instead'), 'passkey')}
${laterButton(texts, later)}
</form>`,
});

const dueText = (texts: Texts, later: Later): Html | undefined =>
  later?.until &&
  html`<p>${texts.t('identity.factors.due', { until: new Intl.DateTimeFormat(texts.tag, { dateStyle: 'long', timeZone: 'UTC' }).format(later.until) })}</p>`;

const laterButton = (texts: Texts, later: Later): Html | undefined =>
  later && html`<button class="second" name="later" value="yes" formnovalidate>${texts.t('identity.factors.later')}</button>`;

const insteadButton = (label: string, factor: 'passkey' | 'totp'): Html =>
  html`<button class="second" name="instead" value="${factor}" formnovalidate>${label}</button>`;

interface PasskeySetUpForm extends Omit<Form, 'isWrong'> {
  passkey: Pick<PasskeyForm, 'options' | 'challenge'>;
  problem: 'refused' | 'known' | 'tooMany' | undefined;
  later: Later;
  /** Offers to set up an app instead. */
  mayBeApp: boolean;
}

/** Asks the browser to create a passkey. Buttons that need no script are outside the form that does. */
export const passkeyPage = (texts: Texts, { proof, passkey, problem, later, mayBeApp, formTargets }: PasskeySetUpForm): Page => ({
  texts,
  heading: texts.t('identity.passkeys.setUpTitle'),
  isFailure: problem !== undefined,
  formTargets,
  script: passkeyScript,
  content: html`${problem && problemText(texts.t(`identity.passkeys.problems.${problem}`))}
${dueText(texts, later)}
<p>${texts.t('identity.passkeys.setUp')}</p>
<p data-unsupported>${texts.t('identity.passkeys.unsupported')}</p>
${passkeyForm(texts, {
  kind: 'create',
  ...passkey,
  proof,
  label: texts.t('identity.passkeys.create'),
  isMain: true,
  fields: html`<label for="name">${texts.t('identity.passkeys.name')}</label>
<input id="name" name="name" type="text" autocomplete="off" maxlength="64">`,
})}
<form method="post">
${hidden('proof', proof)}
${mayBeApp && insteadButton(texts.t('identity.passkeys.appInstead'), 'totp')}
${laterButton(texts, later)}
</form>`,
});

interface CodesForm extends Omit<Form, 'isWrong' | 'proof'> {
  codes: readonly string[];
  /** Sealed proof of the previous steps, or the next address if no step follows. */
  next: { proof: string } | { url: string };
}

/** Shows the recovery codes, once. */
export const codesPage = (texts: Texts, { next, codes, formTargets }: CodesForm): Page => ({
  texts,
  heading: texts.t('identity.factors.codesTitle'),
  formTargets,
  content: html`<p>${texts.t('identity.factors.codes')}</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
${
  'url' in next
    ? html`<p><a class="button" href="${next.url}">${texts.t('identity.factors.kept')}</a></p>`
    : html`<form method="post">
${hidden('proof', next.proof)}
<button>${texts.t('identity.factors.kept')}</button>
</form>`
}`,
});

/** Answers a login after the deadline for setting up a factor. */
export const overduePage = (texts: Texts, consoleURL: string): Page => ({
  texts,
  heading: texts.t('identity.factors.overdueTitle'),
  isFailure: true,
  content: html`<p role="alert">${texts.t('identity.factors.overdue')}</p>
<p><a class="button" href="${consoleURL}">${texts.t('identity.toConsole')}</a></p>`,
});

/** Draws the QR code in the page, because no other host may see its content. */
function picture(url: string, label: string): Html {
  const { data, size } = encode(url, { border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path d="${path}"/></svg>`;
}
