import type { Config } from '../../config/schema.ts';
import { isCommonPassword } from './common-passwords.ts';

/** `users.passwordPolicy`, as far as it is about the password itself. */
export type PasswordRules = Pick<Config['users']['passwordPolicy'], 'minLength' | 'maxLength' | 'classes'>;

/** Why a password is not taken as a new one. */
export type PasswordProblem = 'TooShort' | 'TooLong' | 'Common' | 'NamesUser' | 'NeedsLetter' | 'NeedsDigit' | 'NeedsSpecial';

const classes = {
  letter: { pattern: /\p{L}/u, problem: 'NeedsLetter' },
  digit: { pattern: /\p{Nd}/u, problem: 'NeedsDigit' },
  special: { pattern: /[^\p{L}\p{Nd}]/u, problem: 'NeedsSpecial' },
} as const;

/** Shorter parts of a name are in too many good passwords. */
const minNamePart = 4;

/**
 * The one place that says what a new password has to be.
 *
 * @param user the e-mail address or plain login string, and the display name
 * @returns every rule that it breaks; none for one that will do
 * @see NIST SP 800-63B-4, 3.1.1.2
 */
export async function passwordProblems(
  password: string,
  user: { email: string; username: string },
  { minLength, maxLength, classes: needed }: PasswordRules,
): Promise<PasswordProblem[]> {
  // A character has at most two code units. A longer text is not normalized, which takes long.
  if (password.length > 2 * maxLength) return ['TooLong'];
  const problems: PasswordProblem[] = [];
  // Characters that only look or are encoded differently count as one form, so that no string of marks makes up the length.
  const characters = [...password.normalize('NFKC')].length;
  if (characters < minLength) problems.push('TooShort');
  if (characters > maxLength || [...password].length > maxLength) problems.push('TooLong');
  for (const name of needed) if (!classes[name].pattern.test(password)) problems.push(classes[name].problem);
  if (await isCommonPassword(password)) problems.push('Common');
  if (namesUser(password, user)) problems.push('NamesUser');
  return problems;
}

/** In words for the user who has to choose another one. */
export function problemText(problem: PasswordProblem, { minLength, maxLength }: PasswordRules): string {
  const texts: Record<PasswordProblem, string> = {
    TooShort: `must have at least ${minLength} characters`,
    TooLong: `must have at most ${maxLength} characters`,
    Common: 'is a common password',
    NamesUser: 'must not contain the e-mail address or name of the user',
    NeedsLetter: 'must contain a letter',
    NeedsDigit: 'must contain a digit',
    NeedsSpecial: 'must contain a special character',
  };
  return texts[problem];
}

function namesUser(password: string, { email, username }: { email: string; username: string }): boolean {
  const folded = fold(password);
  const [local = ''] = email.split('@');
  const parts = [email, local, username, ...username.split(/[^\p{L}\p{N}]+/u)].map(fold);
  return parts.some((part) => part !== '' && (folded === part || (part.length >= minNamePart && folded.includes(part))));
}

const fold = (text: string) => text.normalize('NFKC').toLowerCase();
