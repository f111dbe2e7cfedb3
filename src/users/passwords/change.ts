import { conflict, StatusError } from '../../api/status.ts';
import { unending } from '../../kubernetes/abortable.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import { nextSecond, timestamp } from '../../kubernetes/timestamp.ts';
import type { Services } from '../../services.ts';
import { noFailures } from '../logins/lockout.ts';
import { type Account, accountOf } from '../record/account.ts';
import { phaseOf } from '../record/phase.ts';
import { UserRecords } from '../record/records.ts';
import { userResource } from '../record/resource.ts';
import { UserStatusWriter } from '../status.ts';
import { untilValid } from '../valid-since.ts';
import type { Passwords } from './passwords.ts';
import { type PasswordProblem, passwordProblems } from './policy.ts';
import { PasswordSecrets, type StoredHash } from './secret.ts';

/** Which password a user has proved to know: what a `PasswordVerdict` says of it. */
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

/** A user as they are, with the password that they have. */
export interface PasswordState {
  readonly object: KubernetesObject;
  readonly stored: StoredHash | undefined;
}

interface Replacement {
  mustChange: boolean;
  /** What else is written into the status at the end. */
  further?: Record<string, unknown>;
  /** Asked between reading and writing, before anything is written. */
  isWanted?: (object: KubernetesObject) => Promise<boolean>;
}

/** Each call has a deadline of its own: a client that hangs up must not leave a change half done. */
const signal = unending;

/** Gives local users new passwords, and ends what the old one has opened. */
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
   * By the user who has proved the old one. Ends all sessions and tokens of the user, and resolves when new ones count.
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
   * With a one-time link, whatever the old one was. Lifts a lock: what was guessed was the old one. Ends all sessions and tokens.
   *
   * @param isCurrent whether the link counts still; asked again before the password is replaced
   * @throws StatusError 429, 503, 504
   */
  setByLink(user: { name: string; uid: string }, password: string, isCurrent: (state: PasswordState) => boolean): Promise<ChangeVerdict> {
    return this.#changeWhile(user, password, isCurrent, noFailures);
  }

  /** Undefined for a user who is gone. @throws StatusError 503, 504 */
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
          // Once another change has won, its sessions are not ours to end.
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

  /** In the place of that very one, or where there was none. @throws StatusError 409, 503, 504 */
  async #put(user: { name: string; uid: string }, stored: StoredHash | undefined, { hash, changedAt }: { hash: string; changedAt: Date }) {
    if (stored !== undefined) return this.#secrets.replaceHash(user.name, { ...stored, hash, changedAt: timestamp(changedAt) }, signal);
    const isFirst = await this.#secrets.create({ user, hash, changedAt }, signal);
    if (!isFirst) throw conflict(userResource, user.name, 'another request set the password at the same time');
  }

  /**
   * By a caller who may set it, whatever it was; `mustChange` has the user change it before anything else.
   *
   * @throws StatusError 409 if the user was deleted meanwhile, or another request sets it too; 429, 503, 504
   */
  async reset(user: { name: string; uid: string }, password: string, { mustChange }: { mustChange: boolean }): Promise<KubernetesObject> {
    const hash = await this.#passwords.hash(password);
    return this.#replace(user, { mustChange }, (changedAt) => this.#secrets.put({ user, hash, changedAt }, signal));
  }

  /**
   * Access ends before the hash is replaced, so that a crash leaves none that the old password has made, and again after it, for what the
   * old one made in between.
   */
  async #replace(
    user: { name: string; uid: string },
    { mustChange, further = {}, isWanted }: Replacement,
    write: (changedAt: Date) => Promise<void>,
  ): Promise<KubernetesObject> {
    const ended = { sessionsNotBefore: timestamp(nextSecond(this.#services.now())) };
    // Before the hash: the password that one user has set for another must never count without the duty to change it.
    await this.#status.patch(user, async (object) => {
      if (!((await isWanted?.(object)) ?? true)) throw conflict(userResource, user.name, 'the password was changed meanwhile');
      return { ...ended, ...(mustChange && { mustChangePassword: true }) };
    });
    const since = nextSecond(this.#services.now());
    await write(since);
    const time = timestamp(since);
    const changed = { sessionsNotBefore: time, passwordChangedTime: time, mustChangePassword: mustChange };
    const written = await this.#status.patch(user, { ...changed, ...further });
    await untilValid(since, this.#services.now);
    return written;
  }
}
