import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Services } from '../../services.ts';
import { type Account, accountOf } from '../record/account.ts';
import type { Notice, NoticeType } from '../record/schema.ts';
import { type UserReference, UserStatusWriter } from '../status.ts';

const maxNotices = 10;

/**
 * Stores notices about changes of a user's login, which the next login shows, so that users learn of changes that they have not made. A
 * notice is a known type and a time, without text from callers.
 */
export class Notices {
  readonly #services: Services;
  readonly #status: UserStatusWriter;
  #tell: (account: Account, type: NoticeType) => void = () => undefined;

  constructor(services: Services) {
    this.#services = services;
    this.#status = new UserStatusWriter(services);
  }

  /** @param tell receives every new notice, to mail it */
  onAdded(tell: (account: Account, type: NoticeType) => void): void {
    this.#tell = tell;
  }

  /** Adds a notice, and never throws, because the change that it reports is complete. */
  async add(user: UserReference, type: NoticeType): Promise<void> {
    try {
      const notice = { type, time: timestamp(this.#services.now()) };
      const account = await this.#change(user, (notices) => [...notices, notice].slice(-maxNotices));
      if (account !== undefined) this.#tell(account, type);
    } catch (error) {
      this.#services.log.warn({ err: error, user: user.name, notice: type }, 'security notice could not be stored');
    }
  }

  /** Removes the notices that the user has seen. Newer ones stay. @throws StatusError 503, 504 */
  async remove(user: UserReference, seen: readonly Notice[]): Promise<void> {
    const isSeen = ({ type, time }: Notice) => seen.some((one) => one.type === type && one.time === time);
    await this.#change(user, (notices) => notices.filter((notice) => !isSeen(notice)));
  }

  async #change(user: UserReference, change: (notices: readonly Notice[]) => readonly Notice[]): Promise<Account | undefined> {
    const written = await this.#status.patchIfExists(user, (object) => {
      const kept = accountOf(object).notices ?? [];
      const changed = change(kept);
      if (changed.length === kept.length && changed.every((notice, index) => notice === kept[index])) return undefined;
      return { notices: changed.length > 0 ? changed : null };
    });
    return written && accountOf(written);
  }
}
