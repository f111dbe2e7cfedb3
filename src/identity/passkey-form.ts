import type { Texts } from '../texts/texts.ts';
import { type Html, hidden, html } from './html.ts';

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
