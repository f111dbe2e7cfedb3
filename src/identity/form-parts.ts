/** Parts of forms. Values are escaped on insertion. */

import type { Texts } from '../texts/texts.ts';
import type { PasswordProblem } from '../users/passwords/policy.ts';
import { type Html, html } from './html.ts';

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
