import { encode } from 'uqr';
import type { Texts } from '../texts/texts.ts';
import { type Html, hidden, html, problemText } from './html.ts';
import type { Page } from './page.ts';

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

/**
 * Asks the browser for a passkey and puts the result into the form. The pages have no other script, except that of a logout. Browsers
 * without passkeys or scripts never show the form. The attribute `data-passkey` is `get` or `create`, with the options beside it; bytes
 * are encoded as base64url.
 */
export const passkeyScript = `(() => {
  const form = document.querySelector('form[data-passkey]');
  if (!form || !window.PublicKeyCredential || !navigator.credentials) return;
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (sign) => sign.charCodeAt(0));
  const text = (buffer) => btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(''))
    .replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
  const listed = (credentials = []) => credentials.map((one) => ({ ...one, id: bytes(one.id) }));
  const kind = form.dataset.passkey;
  const told = JSON.parse(form.dataset.options);
  const publicKey = { ...told, challenge: bytes(told.challenge) };
  if (told.allowCredentials) publicKey.allowCredentials = listed(told.allowCredentials);
  if (told.excludeCredentials) publicKey.excludeCredentials = listed(told.excludeCredentials);
  if (told.user) publicKey.user = { ...told.user, id: bytes(told.user.id) };
  const problem = form.querySelector('[data-problem]');
  const button = form.querySelector('[data-start]');
  document.querySelector('[data-unsupported]')?.remove();
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    if (event.submitter?.name) return;
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      const { id, rawId, type, response, ...credential } = await navigator.credentials[kind]({ publicKey }).then((made) => ({
        id: made.id, rawId: made.rawId, type: made.type, response: made.response, extensions: made.getClientExtensionResults(),
      }));
      const sent = { clientDataJSON: text(response.clientDataJSON) };
      if (kind === 'create') {
        sent.attestationObject = text(response.attestationObject);
        sent.transports = response.getTransports ? response.getTransports() : [];
      } else {
        sent.authenticatorData = text(response.authenticatorData);
        sent.signature = text(response.signature);
        if (response.userHandle && response.userHandle.byteLength > 0) sent.userHandle = text(response.userHandle);
      }
      const { credProps = {} } = credential.extensions;
      form.elements.assertion.value = JSON.stringify({
        id, rawId: text(rawId), type, response: sent, clientExtensionResults: { credProps },
      });
      form.submit();
    } catch {
      problem.hidden = false;
      button.disabled = false;
    }
  });
})();
`;

/** Input of the page's script, and values that the form submits with the result. */
export interface PasskeyForm {
  kind: 'get' | 'create';
  /** Argument of `navigator.credentials`, with base64url in place of bytes. */
  options: object;
  /** Sealed challenge. */
  challenge: string;
  /** Sealed proof of the previous steps. */
  proof?: string;
  /** Label of the button. */
  label: string;
  /** Makes the button the primary one of the page. */
  isMain?: boolean;
  /** Fields above the button. */
  fields?: Html;
}

/** Returns a hidden form, which the script shows: without the script it is useless. */
export const passkeyForm = (
  texts: Texts,
  { kind, options, challenge, proof, label, isMain = false, fields }: PasskeyForm,
): Html => html`<form method="post" data-passkey="${kind}" data-options="${JSON.stringify(options)}" hidden>
${proof !== undefined && hidden('proof', proof)}
${hidden('challenge', challenge)}
${hidden('assertion', '')}
<div class="bad" role="alert" data-problem hidden>${texts.t('identity.passkeys.failed')}</div>
${fields}
<button data-start${!isMain && html` class="second"`}>${label}</button>
</form>`;
