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
