import type { RateLimit } from '../../http/rate-limit.ts';
import type { DirectoryPasswords } from '../passwords/directory-passwords.ts';

interface NewcomersOptions {
  directories: Pick<DirectoryPasswords, 'provision'>;
  /** Wrong passwords by name, on this replica: a user without a record has none that they could be counted on. */
  limit: RateLimit;
}

/** Users who are new in a directory: their record is made when their password was right. */
export class Newcomers {
  readonly #options: NewcomersOptions;

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  /** @param name of the record; @throws StatusError 503 if a directory gives no answer: then the attempt does not count */
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
