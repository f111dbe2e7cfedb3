import { z } from 'zod';
import type { Seal } from '../keys/seal.ts';
import type { ChangeVerdict, PasswordChange, ProvedPassword } from '../users/passwords/change.ts';
import type { Account } from '../users/record/account.ts';
import type { NewPasswordProblem } from './texts.ts';

/** A user at the login page has given the right password and has to choose another one. */
const proof = z.object({
  /** The visit that it was given in: in no other does it prove anything. */
  interaction: z.string(),
  email: z.string(),
  name: z.string(),
  uid: z.string(),
  passwordChangedAt: z.string(),
});

export interface PasswordDueOptions {
  seal: Seal;
  passwordChange: Pick<PasswordChange, 'change'>;
}

/** What came of a form with a new password. `stale`: the proof counts no longer, or never did. */
export type NewPasswordVerdict =
  | Extract<ChangeVerdict, { outcome: 'changed' }>
  | { outcome: 'refused'; problem: NewPasswordProblem; email: string }
  | { outcome: 'stale' };

/**
 * Lets people change a password that is due in the middle of a login. That the old one was right is sealed into the form, so that no user has to type it again and no page has to hold it; it counts in this visit to the login page, until the password changes.
 */
export class PasswordDue {
  readonly #options: PasswordDueOptions;

  constructor(options: PasswordDueOptions) {
    this.#options = options;
  }

  /** @throws StatusError 503 */
  prove(interaction: string, { name, uid, email }: Account, passwordChangedAt: string): string {
    return this.#options.seal.seal(JSON.stringify({ interaction, email, name, uid, passwordChangedAt }));
  }

  /** @throws StatusError 429, 503, 504 */
  async change(interaction: string, form: URLSearchParams): Promise<NewPasswordVerdict> {
    const proved = await this.#open(form.get('proof') ?? '');
    if (proved?.interaction !== interaction) return { outcome: 'stale' };
    const { email } = proved;
    const password = form.get('new_password') ?? '';
    if (form.get('new_password_again') !== password) return { outcome: 'refused', problem: 'Different', email };
    const verdict = await this.#options.passwordChange.change(proved, password);
    if (verdict.outcome === 'overtaken') return { outcome: 'stale' };
    return verdict.outcome === 'refused' ? { ...verdict, email } : verdict;
  }

  async #open(sealed: string): Promise<(ProvedPassword & { interaction: string; email: string }) | undefined> {
    const text = await this.#options.seal.open(sealed);
    return text === undefined ? undefined : proof.parse(JSON.parse(text));
  }
}
