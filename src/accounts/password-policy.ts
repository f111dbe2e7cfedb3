/** NIST SP 800-63B, 5.1.1.2: at least 8 characters, and length rather than rules of composition. */
export const minCharacters = 8;
/** What `Passwords` takes. */
const maxCharacters = 128;
/** A shorter one is part of many a good password by chance. */
const minNameCharacters = 4;

/** Why a password is not taken as a new one. */
export type PasswordProblem = 'TooShort' | 'TooLong' | 'NamesUser';

/**
 * The one place that says what a new password has to be.
 *
 * @param email of the user: e-mail address or plain login string
 * @returns undefined for one that will do
 */
export function passwordProblem(password: string, { email }: { email: string }): PasswordProblem | undefined {
  // Characters that only look or are encoded differently count as one form, so that no string of marks makes up the length.
  const characters = [...password.normalize('NFKC')].length;
  if (characters < minCharacters) return 'TooShort';
  if (characters > maxCharacters || [...password].length > maxCharacters) return 'TooLong';
  const [local = ''] = email.split('@');
  return local.length >= minNameCharacters && fold(password).includes(fold(local)) ? 'NamesUser' : undefined;
}

/** For people who run commands. */
export const problemTexts: Readonly<Record<PasswordProblem, string>> = {
  TooShort: `it must have at least ${minCharacters} characters`,
  TooLong: `it must have at most ${maxCharacters} characters`,
  NamesUser: 'it must not contain the name of the user',
};

const fold = (text: string) => text.normalize('NFKC').toLowerCase();
