import { type FieldError, invalidValue } from '../../api/field-error.ts';
import type { Config } from '../../config/schema.ts';
import type { PasswordEnvelopes } from './envelope.ts';
import type { Passwords } from './passwords.ts';
import { passwordProblems, problemText } from './policy.ts';

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
