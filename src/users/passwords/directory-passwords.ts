import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { Account } from '../record/account.ts';

/** Properties of a user from a directory that has verified the password. */
interface DirectoryProof {
  groups: readonly string[];
}

/** Directories that verify the passwords of their users. */
export interface DirectoryPasswords {
  /** Reports whether the connector is a directory that verifies passwords. */
  has(connectorID: string): boolean;
  /**
   * Verifies a password at the directory of the user.
   *
   * @returns undefined if the password is wrong, or the directory has no entry of the user; `SubjectDiffers` if it is the password of
   * another entry, which has the address now
   * @throws StatusError 503 if the directory does not answer
   */
  check(attempt: { account: Account; password: string }, signal: AbortSignal): Promise<DirectoryProof | 'SubjectDiffers' | undefined>;
  /**
   * Creates the record of a user who is new in a directory, like a synchronization would, if the password is right. The record of a user
   * whose address has changed in the directory is found by the id of the entry; its password is not verified.
   *
   * @returns undefined if the password is wrong, no directory knows the user, or records are not created at login
   * @throws StatusError 503
   */
  provision(attempt: { email: string; password: string }, signal: AbortSignal): Promise<Provisioned | undefined>;
}

/** Login string of the user's record, or that the address belongs to a record of another entry. */
export type Provisioned = { login: string } | 'SubjectDiffers';

interface NewcomersOptions {
  directories: Pick<DirectoryPasswords, 'provision'>;
  /** Limit of wrong passwords by record name, on this replica. A user without a record has no count in the cluster. */
  limit: RateLimit;
}

/** Creates records of users who are new in a directory, once their password was right. */
export class DirectoryProvisioning {
  readonly #options: NewcomersOptions;

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  /**
   * @param name of the record
   * @throws StatusError 503 if a directory does not answer; the attempt is not counted then
   */
  async provision(name: string, attempt: { email: string; password: string }, signal: AbortSignal): Promise<Provisioned | undefined> {
    const { directories, limit } = this.#options;
    if (limit.take(name) !== undefined) return undefined;
    return limit.runCounted(
      name,
      () => directories.provision(attempt, signal),
      (provisioned) => provisioned === undefined,
    );
  }
}
