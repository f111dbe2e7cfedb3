import { nextSecond, sleepUntil, timestamp } from '@atrium/kubernetes/clock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { conflict, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../../services.ts';
import { noFailures } from '../logins/lockout.ts';
import { type Account, accountOf } from '../record/account.ts';
import { phaseOf } from '../record/conditions.ts';
import { UserRecords } from '../record/records.ts';
import { userResource } from '../record/schema.ts';
import { UserStatusWriter } from '../status.ts';
import type { Passwords } from './passwords.ts';
import { type PasswordProblem, passwordProblems } from './policy.ts';
import { PasswordSecrets, type StoredHash } from './secret.ts';

/** Password that a user has proved to know, from a `PasswordVerdict`. */
export interface ProvedPassword {
  /** Name and UID of the record. */
  name: string;
  uid: string;
  passwordChangedAt: string;
}

export type ChangeVerdict =
  | { outcome: 'changed'; account: Account }
  | { outcome: 'refused'; problem: PasswordProblem | 'SameAsOld' }
  /** The password was changed meanwhile, or the user may no longer log in. */
  | { outcome: 'overtaken' };

/** User record and the stored hash of the present password. */
export interface PasswordState {
  readonly object: KubernetesObject;
  readonly stored: StoredHash | undefined;
}

interface Replacement {
  mustChange: boolean;
  /** Further status members of the last write. */
  further?: Record<string, unknown>;
  /** Confirms the change after the record is read and before it is written. */
  isWanted?: (object: KubernetesObject) => Promise<boolean>;
}

/** Never aborts, because a disconnected client must not leave a change incomplete. Each call has its own deadline. */
const signal = neverAborts;

/** Changes passwords of local users, and ends the access that the old password has opened. */
export class PasswordChange {
  readonly #services: Services;
  readonly #passwords: Passwords;
  readonly #records: UserRecords;
  readonly #secrets: PasswordSecrets;
  readonly #status: UserStatusWriter;

  constructor(services: Services, passwords: Passwords) {
    this.#services = services;
    this.#passwords = passwords;
    this.#records = new UserRecords(services.client);
    this.#secrets = new PasswordSecrets(services);
    this.#status = new UserStatusWriter(services);
  }

  /**
   * Changes the password of a user who has proved the old one. Ends all sessions and tokens of the user, and resolves when new ones are
   * valid.
   *
   * @throws StatusError 429, 503, 504
   */
  async change(proved: ProvedPassword, password: string): Promise<ChangeVerdict> {
    const { idleDays } = this.#services.config.users;
    const isProved = ({ object, stored }: PasswordState) =>
      stored?.changedAt === proved.passwordChangedAt && phaseOf(accountOf(object), this.#services.now(), idleDays).phase === 'Normal';
    return this.#changeWhile(proved, password, isProved, {});
  }

  /**
   * Sets the password by a one-time link, whatever the old one was. Lifts a lock, because the guesses were aimed at the old password. Ends
   * all sessions and tokens.
   *
   * @param isCurrent reports whether the link is still valid; called again before the password is replaced
   * @throws StatusError 429, 503, 504
   */
  setByLink(user: { name: string; uid: string }, password: string, isCurrent: (state: PasswordState) => boolean): Promise<ChangeVerdict> {
    return this.#changeWhile(user, password, isCurrent, noFailures);
  }

  /** Returns undefined for a deleted user. @throws StatusError 503, 504 */
  async stateOf(user: { name: string; uid: string }): Promise<PasswordState | undefined> {
    const [object, stored] = await Promise.all([this.#records.read(user.name, signal), this.#secrets.read(user, signal)]);
    return object === undefined || object === 'notInstalled' || object.metadata.uid !== user.uid ? undefined : { object, stored };
  }

  async #changeWhile(
    user: { name: string; uid: string },
    password: string,
    isCurrent: (state: PasswordState) => boolean,
    further: Record<string, unknown>,
  ): Promise<ChangeVerdict> {
    const state = await this.stateOf(user);
    if (state === undefined || !isCurrent(state)) return { outcome: 'overtaken' };
    const { stored, object } = state;
    const [problem] = await passwordProblems(password, accountOf(object), this.#services.config.users.passwordPolicy);
    if (problem !== undefined) return { outcome: 'refused', problem };
    if (stored !== undefined && (await this.#passwords.verify(password, stored.hash)) !== 'mismatch')
      return { outcome: 'refused', problem: 'SameAsOld' };
    const hash = await this.#passwords.hash(password);
    try {
      const written = await this.#replace(
        user,
        {
          mustChange: false,
          further,
          // After another change has won, the sessions belong to that one.
          isWanted: async (now) => isCurrent({ object: now, stored: await this.#secrets.read(user, signal) }),
        },
        (changedAt) => this.#put(user, stored, { hash, changedAt }),
      );
      return { outcome: 'changed', account: accountOf(written) };
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 409) return { outcome: 'overtaken' };
      throw error;
    }
  }

  /** Replaces that very hash, or creates the first one. @throws StatusError 409, 503, 504 */
  async #put(user: { name: string; uid: string }, stored: StoredHash | undefined, { hash, changedAt }: { hash: string; changedAt: Date }) {
    if (stored !== undefined) return this.#secrets.replaceHash(user.name, { ...stored, hash, changedAt: timestamp(changedAt) }, signal);
    const isFirst = await this.#secrets.create({ user, hash, changedAt }, signal);
    if (!isFirst) throw conflict(userResource, user.name, 'another request set the password at the same time');
  }

  /**
   * Sets the password for a caller with the right to do so, whatever the old one was. `mustChange` requires the user to change it before
   * anything else.
   *
   * @throws StatusError 409 if the user was deleted meanwhile, or another request sets the password, too; 429, 503, 504
   */
  async reset(user: { name: string; uid: string }, password: string, { mustChange }: { mustChange: boolean }): Promise<KubernetesObject> {
    const hash = await this.#passwords.hash(password);
    return this.#replace(user, { mustChange }, (changedAt) => this.#secrets.put({ user, hash, changedAt }, signal));
  }

  /**
   * Ends access before the hash is replaced, so that a crash leaves no session of the old password, and again afterwards for sessions
   * opened in between.
   */
  async #replace(
    user: { name: string; uid: string },
    { mustChange, further = {}, isWanted }: Replacement,
    write: (changedAt: Date) => Promise<void>,
  ): Promise<KubernetesObject> {
    const ended = { sessionsNotBefore: timestamp(nextSecond(this.#services.now())) };
    // The requirement to change the password is written before the hash, so that a password set by another user is never valid without it.
    await this.#status.patch(user, async (object) => {
      if (!((await isWanted?.(object)) ?? true)) throw conflict(userResource, user.name, 'the password was changed meanwhile');
      return { ...ended, ...(mustChange && { mustChangePassword: true }) };
    });
    const since = nextSecond(this.#services.now());
    await write(since);
    const time = timestamp(since);
    const changed = { sessionsNotBefore: time, passwordChangedTime: time, mustChangePassword: mustChange };
    const written = await this.#status.patch(user, { ...changed, ...further });
    await sleepUntil(since, this.#services.now);
    return written;
  }
}
