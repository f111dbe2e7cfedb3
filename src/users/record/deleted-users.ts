import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { ServiceClient } from '../../kubernetes/api-server.ts';
import type { Account } from './account.ts';
import { revocationEnd, revokeSubject } from './revoked-subject.ts';
import { localSubjectName, type SubjectNaming } from './subject-name.ts';

/** A replica that takes the Lease over ends what the one before it may have missed. */
const rememberedMs = 120_000;
const maxRemembered = 10_000;
const retryMs = 2_000;

export interface DeletedUsersOptions {
  client: ServiceClient;
  config: Pick<Config, 'login'>;
  naming: SubjectNaming;
  log: Logger;
  now: () => Date;
}

interface Gone {
  account: Account;
  at: Date;
}

/**
 * Ends the tokens of users whose records were deleted past the API, with kubectl or by another program. Every replica remembers for a
 * while whom it saw go, and the one that keeps the states of users writes what ends them.
 */
export class DeletedUsers {
  readonly #options: DeletedUsersOptions;
  readonly #gone = new LRUCache<string, Gone>({ max: maxRemembered, ttl: rememberedMs });
  #wake: () => void = () => undefined;

  constructor(options: DeletedUsersOptions) {
    this.#options = options;
  }

  /** To be told of every record that is gone, also of one that was made again at once. */
  see(account: Account): void {
    // A record that is not canonical is no user.
    if (!account.isCanonical) return;
    this.#gone.set(account.uid, { account, at: this.#options.now() });
    this.#wake();
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const isDone = await this.#endAll(signal);
      if (isDone) await promise;
      else await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** @returns false if some are left */
  async #endAll(signal: AbortSignal): Promise<boolean> {
    for (const gone of [...this.#gone.values()]) {
      const { account } = gone;
      if (signal.aborted) return false;
      try {
        await this.#end(gone, signal);
        this.#gone.delete(account.uid);
      } catch (error) {
        this.#options.log.debug({ user: account.name, err: error }, 'the tokens of a deleted user could not be ended yet');
        return false;
      }
    }
    return true;
  }

  /** As of the moment when it was seen: who gets the name later keeps what they open, however late this is. */
  async #end({ account, at: now }: Gone, signal: AbortSignal): Promise<void> {
    const { client, config, naming } = this.#options;
    const subjectName = account.subjectName || (account.connectorType === 'local' ? localSubjectName(account, naming) : undefined);
    if (!subjectName) return;
    const expiresAt = revocationEnd(now, config.login.session);
    await revokeSubject(client, { subjectName, user: account.name, userUID: account.uid, now, expiresAt }, signal, { once: true });
  }
}
