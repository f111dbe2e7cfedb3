import type { Texts } from '../texts/texts.ts';
import { hidden } from './form-parts.ts';
import { type Html, html } from './html.ts';

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
