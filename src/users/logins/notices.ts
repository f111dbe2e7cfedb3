import { unending } from '../../kubernetes/abortable.ts';
import { timestamp } from '../../kubernetes/timestamp.ts';
import type { Services } from '../../services.ts';
import { type Account, accountOf } from '../record/account.ts';
import type { Notice, NoticeType } from '../record/notice.ts';
import { UserRecords, untilUncontested } from '../record/records.ts';

const maxNotices = 10;

interface Owner {
  readonly name: string;
  readonly uid: string;
}

/** Each call has a deadline of its own: what has happened is told, also if the client has hung up. */
const signal = unending;

/**
 * What happened to the login of a user, told at the next one, so that a user learns of what they have not done themselves. Kept on the
 * record: a kind out of a list and a time, and nothing that a caller has written.
 */
export class Notices {
  readonly #services: Services;
  readonly #records: UserRecords;
  #tell: (account: Account, type: NoticeType) => void = () => undefined;

  constructor(services: Services) {
    this.#services = services;
    this.#records = new UserRecords(services.client);
  }

  /** @param tell gets each one that is added, to mail it */
  onAdded(tell: (account: Account, type: NoticeType) => void): void {
    this.#tell = tell;
  }

  /** Never throws: what it tells of is done. */
  async add(user: Owner, type: NoticeType): Promise<void> {
    try {
      const notice = { type, time: timestamp(this.#services.now()) };
      const account = await this.#change(user, (notices) => [...notices, notice].slice(-maxNotices));
      if (account !== undefined) this.#tell(account, type);
    } catch (error) {
      this.#services.log.warn({ err: error, user: user.name, notice: type }, 'a notice was not kept');
    }
  }

  /** Those that the user has seen; what came meanwhile stays. @throws StatusError 503, 504 */
  async remove(user: Owner, seen: readonly Notice[]): Promise<void> {
    const isSeen = ({ type, time }: Notice) => seen.some((one) => one.type === type && one.time === time);
    await this.#change(user, (notices) => notices.filter((notice) => !isSeen(notice)));
  }

  async #change({ name, uid }: Owner, change: (notices: readonly Notice[]) => readonly Notice[]): Promise<Account | undefined> {
    const written = await untilUncontested(async () => {
      const object = await this.#records.read(name, signal);
      if (object === undefined || object === 'notInstalled' || object.metadata.uid !== uid) return 'gone';
      const kept = accountOf(object).notices ?? [];
      const changed = change(kept);
      if (changed.length === kept.length && changed.every((notice, index) => notice === kept[index])) return object;
      return this.#records.patch(object, { status: { notices: changed.length > 0 ? changed : null } }, signal);
    }, signal);
    return written === undefined || written === 'gone' ? undefined : accountOf(written);
  }
}
