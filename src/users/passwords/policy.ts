import { Slices } from '@atrium/kubernetes/slices.ts';
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import type { Config } from '../../config/schema.ts';
import type { Passwords } from './passwords.ts';
import type { PasswordEnvelopes } from './secret.ts';

/** Passwords that attackers try first, collected by the zxcvbn project. Loaded when the first password is set. */
let known: Promise<ReadonlySet<string>> | undefined;

/** Reports whether the password is one of the 49,000 most common ones, in any case. */
async function isCommonPassword(password: string): Promise<boolean> {
  known ??= readAll();
  return (await known).has(password.toLowerCase());
}

async function readAll(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const slices = new Slices();
  const all = new Set<string>();
  for (const password of dictionary['passwords-common']) {
    const turn = slices.end();
    if (turn) await turn;
    all.add(password);
  }
  return all;
}

/** Part of `users.passwordPolicy` that concerns the password itself. */
export type PasswordRules = Pick<Config['users']['passwordPolicy'], 'minLength' | 'maxLength' | 'classes'>;

/** Reason why a new password is refused. */
export type PasswordProblem = 'TooShort' | 'TooLong' | 'Common' | 'NamesUser' | 'NeedsLetter' | 'NeedsDigit' | 'NeedsSpecial';

const classes = {
  letter: { pattern: /\p{L}/u, problem: 'NeedsLetter' },
  digit: { pattern: /\p{Nd}/u, problem: 'NeedsDigit' },
  special: { pattern: /[^\p{L}\p{Nd}]/u, problem: 'NeedsSpecial' },
} as const;

/** Minimum length of a part of a name. Shorter parts occur in too many good passwords. */
const minNamePart = 4;

/**
 * Checks a new password by itself. Callers compare it with the old one.
 *
 * @param user the e-mail address or plain login string, and the display name
 * @returns all violated rules, or only `TooLong` for an excessive text
 * @see NIST SP 800-63B-4, 3.1.1.2
 */
export async function passwordProblems(
  password: string,
  user: { email: string; username: string },
  { minLength, maxLength, classes: needed }: PasswordRules,
): Promise<PasswordProblem[]> {
  // A character has at most two code units. Longer texts are refused before the normalization, which takes long.
  if (password.length > 2 * maxLength) return ['TooLong'];
  const problems: PasswordProblem[] = [];
  // NFKC counts compatible and composed characters as one form, so that a sequence of marks cannot reach the minimum length.
  const characters = [...password.normalize('NFKC')].length;
  if (characters < minLength) problems.push('TooShort');
  if (characters > maxLength || [...password].length > maxLength) problems.push('TooLong');
  for (const name of needed) if (!classes[name].pattern.test(password)) problems.push(classes[name].problem);
  if (await isCommonPassword(password)) problems.push('Common');
  if (namesUser(password, user)) problems.push('NamesUser');
  return problems;
}

/** Returns a text for the user, who has to choose another password. */
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

/** Decrypted password and its violations of the rules. */
interface ReadPassword {
  /** Plain text; '' if it could not be decrypted. */
  password: string;
  violations: FieldError[];
}

/** Decrypts new passwords, checks them against the policy, and hashes them. */
export class NewPasswords {
  readonly #policy: Config['users']['passwordPolicy'];
  readonly #envelopes: PasswordEnvelopes;
  readonly #passwords: Passwords;

  constructor(policy: Config['users']['passwordPolicy'], envelopes: PasswordEnvelopes, passwords: Passwords) {
    this.#policy = policy;
    this.#envelopes = envelopes;
    this.#passwords = passwords;
  }

  /**
   * Decrypts a new password and checks it against the policy.
   *
   * @param sent plain, or an envelope
   * @param field of the body, for the violations
   * @throws StatusError 503 while there is no key to decrypt envelopes
   */
  async read(sent: string, field: string, user: { email: string; username: string }): Promise<ReadPassword> {
    const opened = await this.open(sent, field);
    if (opened.violations.length > 0) return opened;
    const problems = await passwordProblems(opened.password, user, this.#policy);
    return { ...opened, violations: problems.map((problem) => invalidValue(field, '***', problemText(problem, this.#policy))) };
  }

  /** Decrypts an existing password, without a check against the policy. */
  async open(sent: string, field: string): Promise<ReadPassword> {
    const wrong = (detail: string) => ({ password: '', violations: [invalidValue(field, '***', detail)] });
    if (!this.#envelopes.isEnvelope(sent))
      return this.#policy.requireEncrypted
        ? wrong('must be encrypted with the key of GET /auth/v1/pubkey')
        : { password: sent, violations: [] };
    const password = await this.#envelopes.open(sent);
    return password === undefined
      ? wrong('cannot be decrypted: encrypt it again with the key of GET /auth/v1/pubkey')
      : { password, violations: [] };
  }

  /** Hashes a password. @throws StatusError 429 if too many requests are waiting */
  hash(password: string): Promise<string> {
    return this.#passwords.hash(password);
  }
}
