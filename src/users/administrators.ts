import { setTimeout as sleep } from 'node:timers/promises';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { Semaphore } from '@atrium/http/limits/semaphore.ts';
import { type HeldLock, LeaseLock } from '@atrium/kubernetes/controllers/lease-lock.ts';
import { conflict, serviceUnavailable } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import { type Account, accountOf } from './record/account.ts';
import { phaseOf } from './record/conditions.ts';
import { type AccountLookup, requireAccounts } from './record/lookup.ts';
import { UserRecords } from './record/records.ts';
import { userResource } from './record/schema.ts';

/** Longer than a request may take. A replica that dies with the lock blocks the others for this long. */
const lockSeconds = 15;
const waitMs = 8_000;
const pauseMs = 50;
const turns = { atOnce: 1, maxWaiting: 1024, what: 'removals of administrators are waiting' };

/**
 * Keeps at least one administrator who can restore the access of others. A replica that removes one holds a Lease, and reads the other
 * administrators from the API server at that moment. Two concurrent requests, also on two replicas, never remove the last two.
 */
export class Administrators {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #records: UserRecords;
  readonly #lock: LeaseLock;
  /** Queue of this replica, so that its concurrent requests do not contend for the Lease. */
  readonly #turns = new Semaphore(turns);

  constructor(services: Services, accounts: AccountLookup) {
    const { client, namespace, log, metrics, now } = services;
    reportRefusals(metrics, 'administrators', this.#turns);
    this.#services = services;
    this.#accounts = accounts;
    this.#records = new UserRecords(client);
    this.#lock = new LeaseLock({ client, namespace, log, now, name: 'atrium-administrators', durationSeconds: lockSeconds });
  }

  /** Refuses to remove the last administrator. @throws StatusError 409 for the last administrator who can log in, 503, 504 */
  async requireAnother({ name, isAdmin, isCanonical }: Account, what: string, signal: AbortSignal): Promise<void> {
    const accounts = this.#accounts;
    const { config, now } = this.#services;
    if (!isAdmin || !isCanonical) return;
    requireAccounts(accounts);
    for (const other of accounts.administrators()) {
      if (other.name === name) continue;
      const found = await this.#records.read(other.name, signal);
      if (found === undefined || found === 'notInstalled') continue;
      const account = accountOf(found);
      if (account.isAdmin && phaseOf(account, now(), config.users.idleDays).phase === 'Normal') return;
    }
    throw conflict(userResource, name, `the last administrator cannot be ${what}`);
  }

  /**
   * Runs a change that removes an administrator, if another one remains. Runs changes of other users at once.
   *
   * @param act its signal aborts when the lock is lost
   * @throws StatusError 409 for the last administrator who can log in, 429, 503 while other administrators are being removed, 504
   */
  async leaving<T>(account: Account, what: string, act: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (!account.isAdmin || !account.isCanonical) return act(signal);
    return this.#turns.run(() => this.#locked(account, what, act, signal), signal);
  }

  async #locked<T>(account: Account, what: string, act: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const lock = await this.#take(signal);
    const held = AbortSignal.any([signal, lock.signal]);
    try {
      await this.requireAnother(account, what, held);
      return await act(held);
    } finally {
      await lock.end();
    }
  }

  async #take(signal: AbortSignal): Promise<HeldLock> {
    const until = performance.now() + waitMs;
    for (;;) {
      const taken = await this.#lock.take(signal);
      if ('end' in taken) return taken;
      if (performance.now() > until)
        throw serviceUnavailable('kubernetes', { cause: new Error('another replica is taking an administrator away') });
      await sleep(pauseMs * (1 + Math.random()), undefined, { signal });
    }
  }
}
