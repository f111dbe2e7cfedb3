import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isRecord } from '../kubernetes/resource.ts';
import { type Account, accountOf } from './account.ts';
import { type PasswordProblem, passwordProblem } from './password-policy.ts';
import { PasswordSecrets, type StoredHash } from './password-secret.ts';
import type { Passwords } from './passwords.ts';
import { phaseOf, phaseStatus } from './phase.ts';
import { timestamp } from './timestamp.ts';
import { UserRecords, untilUncontested } from './user-records.ts';

/** Which password somebody has proved to know: what a `PasswordVerdict` says of it. */
export interface ProvedPassword {
  /** Name and uid of the record. */
  name: string;
  uid: string;
  passwordChangedAt: string;
}

export type ChangeVerdict =
  | { outcome: 'changed'; account: Account }
  | { outcome: 'refused'; problem: PasswordProblem | 'SameAsOld' }
  /** Meanwhile the password was changed, or the user may not log in any more. */
  | { outcome: 'overtaken' };

export interface PasswordChangeOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  passwords: Passwords;
  config: Pick<Config['users'], 'idleDays'>;
  now: () => Date;
}

/** Each call has a deadline of its own: whoever hangs up must not leave a change half done. */
const { signal } = new AbortController();

/** Gives local users who have proved the old password a new one. */
export class PasswordChange {
  readonly #options: PasswordChangeOptions;
  readonly #records: UserRecords;
  readonly #secrets: PasswordSecrets;

  constructor(options: PasswordChangeOptions) {
    this.#options = options;
    this.#records = new UserRecords(options.client);
    this.#secrets = new PasswordSecrets(options);
  }

  /**
   * Ends all sessions and tokens of the user, and resolves when new ones count.
   *
   * They end before the hash is replaced, so that a crash leaves none that the old password has made, and again after it, for those that
   * the old one made in between.
   *
   * @throws StatusError 429, 503, 504
   */
  async change(proved: ProvedPassword, password: string): Promise<ChangeVerdict> {
    const { passwords, now } = this.#options;
    const stored = await this.#secrets.read(proved, signal);
    const account = await this.#accountOf(proved);
    if (stored === undefined || account === undefined || stored.changedAt !== proved.passwordChangedAt) return { outcome: 'overtaken' };
    const problem = passwordProblem(password, account);
    if (problem !== undefined) return { outcome: 'refused', problem };
    if ((await passwords.verify(password, stored.hash)) !== 'mismatch') return { outcome: 'refused', problem: 'SameAsOld' };
    const hash = await passwords.hash(password);

    const ended = { sessionsNotBefore: timestamp(nextSecond(now())) };
    // Once another change has won, its sessions are not ours to end.
    if (!(await this.#writeStatus(proved, ended, () => this.#isCurrent(proved)))) return { outcome: 'overtaken' };
    const since = nextSecond(now());
    if (!(await this.#replace(proved.name, { ...stored, hash, changedAt: timestamp(since) }))) return { outcome: 'overtaken' };
    const told = { sessionsNotBefore: timestamp(since), passwordChangedTime: timestamp(since), mustChangePassword: false };
    const changed = await this.#writeStatus(proved, told);
    if (changed === undefined) return { outcome: 'overtaken' };
    // Tokens tell their time in whole seconds: one made earlier would count as made before the change.
    await sleep(Math.max(0, since.getTime() - now().getTime()));
    return { outcome: 'changed', account: changed };
  }

  async #accountOf({ name, uid }: ProvedPassword): Promise<Account | undefined> {
    const object = await this.#records.read(name, signal);
    if (object === undefined || object === 'not-installed' || object.metadata.uid !== uid) return undefined;
    const account = accountOf(object);
    const { phase } = phaseOf(account, this.#options.now(), this.#options.config.idleDays);
    return phase === 'Normal' ? account : undefined;
  }

  async #isCurrent(proved: ProvedPassword): Promise<boolean> {
    return (await this.#secrets.read(proved, signal))?.changedAt === proved.passwordChangedAt;
  }

  /** Whether the password was still the one that was proved. */
  async #replace(name: string, replacement: StoredHash): Promise<boolean> {
    try {
      await this.#secrets.replaceHash(name, replacement, signal);
      return true;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 409) return false;
      throw error;
    }
  }

  /**
   * Undefined if the user is gone, or it is no longer wanted.
   *
   * @param isWanted asked between reading and writing, so that what it says holds for the version that is replaced
   * @throws StatusError 503 if others write the record all the time
   */
  async #writeStatus(
    { name, uid }: ProvedPassword,
    changes: Record<string, unknown>,
    isWanted = async () => true,
  ): Promise<Account | undefined> {
    const { now, config } = this.#options;
    const written = await untilUncontested(async () => {
      const object = await this.#records.read(name, signal);
      if (object === undefined || object === 'not-installed' || object.metadata.uid !== uid) return 'not to be written';
      if (!(await isWanted())) return 'not to be written';
      const status = { ...(isRecord(object.status) && object.status), ...changes };
      const phase = phaseStatus({ ...object, status }, now(), config.idleDays);
      return this.#records.patch(object, { status: { ...changes, ...phase } }, signal);
    }, signal);
    if (written === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('the User is written all the time') });
    return written === 'not to be written' ? undefined : accountOf(written);
  }
}

const nextSecond = (time: Date): Date => new Date((Math.floor(time.getTime() / 1000) + 1) * 1000);
