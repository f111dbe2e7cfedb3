import type { Texts } from '../texts/texts.ts';
import { hidden } from './form-parts.ts';
import { type Html, html } from './html.ts';

/** What the script of the page is told, and what comes back with what it got. */
export interface PasskeyForm {
  kind: 'get' | 'create';
  /** As `navigator.credentials` takes them, with base64url in the place of bytes. */
  options: object;
  /** The challenge, sealed. */
  challenge: string;
  /** What was proved before. */
  proof?: string;
  /** Of the button. */
  label: string;
  /** Whether the page is about nothing else. */
  isMain?: boolean;
  /** Above the button. */
  fields?: Html;
}

/** Shown by the script alone: without it there is nothing to be had. */
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
