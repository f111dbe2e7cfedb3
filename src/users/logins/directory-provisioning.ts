import type { RateLimit } from '../../limits/rate-limit.ts';
import type { DirectoryPasswords } from '../passwords/directory-passwords.ts';

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
  async provision(name: string, attempt: { email: string; password: string }, signal: AbortSignal): Promise<void> {
    const { directories, limit } = this.#options;
    if (limit.take(name) !== undefined) return;
    let isFailure = false;
    try {
      isFailure = !(await directories.provision(attempt, signal));
    } finally {
      if (!isFailure) limit.giveBack(name);
    }
  }
}
