import type { Texts } from '../texts/texts.ts';
import type { PasswordProblem } from '../users/passwords/policy.ts';

const trusted = Symbol('HTML');

/** Trusted HTML. Only this module creates it, so that no input gets into a page unescaped. */
export interface Html {
  readonly [trusted]: string;
}

export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return String(value).replace(/[&<>"']/g, (sign) => escapes[sign] ?? '');
  return trusted in value ? value[trusted] : value.map(textOf).join('');
}

/** Builds HTML: escapes text (for elements and quoted attributes), omits `undefined` and `false`, and joins lists. */
export const html = (parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html => ({
  [trusted]: parts.reduce((text, part, index) => text + textOf(values[index - 1]) + part),
});

export const htmlText = (page: Html): string => page[trusted];

/** Builds an element of our own style sheet, unescaped, because escapes have another meaning in CSS. */
export const styleElement = (css: string): Html => ({ [trusted]: `<style>${css}</style>` });

/** Builds an element of our own script, unescaped. */
export const scriptElement = (script: string): Html => ({ [trusted]: `<script>${script}</script>` });

/** Reasons for which a new password is refused. */
export type NewPasswordProblem = PasswordProblem | 'SameAsOld' | 'Different';

export const hidden = (name: string, value: string): Html => html`<input type="hidden" name="${name}" value="${value}">`;

export const problemText = (text: Html | string): Html => html`<div class="bad" role="alert" id="problem">${text}</div>`;

/** Returns two fields for a new password, and the login name for password managers. */
export function newPasswordFields(
  texts: Texts,
  { email, minLength, isWrong }: { email: string; minLength: number; isWrong: boolean },
): Html {
  const marks = isWrong && html` aria-invalid="true"`;
  const field = (name: string, label: string, focus: Html | false) => html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="password" autocomplete="new-password" maxlength="1024" required aria-describedby="rule${isWrong && ' problem'}"${focus}${marks}>`;
  return html`<input type="text" name="email" autocomplete="username" value="${email}" readonly hidden>
${field('new_password', texts.t('identity.newPassword'), html` autofocus`)}
${field('new_password_again', texts.t('identity.newPasswordAgain'), false)}
<p class="faint" id="rule">${texts.t('identity.newPasswordRule', { characters: minLength })}</p>`;
}
