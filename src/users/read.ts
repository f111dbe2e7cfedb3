import { notFound, passwordDue } from '../api/status.ts';
import type { Lister } from '../collection/lister.ts';
import type { Page } from '../collection/page.ts';
import type { ListParameters } from '../collection/schema.ts';
import { type RightCheck, rightCheck } from '../collection/while-allowed.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { AccountLookup } from './record/lookup.ts';
import { userResource } from './record/resource.ts';
import type { UserRow } from './row.ts';

export interface UserServiceOptions {
  /** All users, by name. */
  users: WatchCache<UserRow>;
  /** The same, as login sees them. */
  accounts: Pick<AccountLookup, 'ofSubject'>;
  lister: Lister<UserRow>;
  access: AccessReviews;
}

/** Lists and shows users out of the watch cache, after the API server has said that the caller may see them. */
export class UserService {
  readonly #options: UserServiceOptions;

  constructor(options: UserServiceOptions) {
    this.#options = options;
  }

  /** A UserList. @throws StatusError 400, 403, 410, 503, 504 */
  async list(parameters: ListParameters, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { lister, access } = this.#options;
    await access.require(caller, { ...userResource, verb: 'list' }, signal);
    return lister.list(parameters, signal);
  }

  /** Whether the caller may follow the users, now and as long as a live list goes on. */
  watchCheck({ identity }: Caller): RightCheck {
    return rightCheck(this.#options.access, { ...userResource, verb: 'watch' }, identity.name);
  }

  /** The caller's own record, or one that he may get. @throws StatusError 403 whether or not there is such a user, 404, 503 */
  async get(name: string, caller: Caller, signal: AbortSignal): Promise<UserRow> {
    const { users, access } = this.#options;
    await this.#options.lister.whenUsable(signal);
    if (!isSelf(users.get(name), caller)) {
      if (caller.mustChangePassword) throw passwordDue();
      await access.require(caller, { ...userResource, verb: 'get', name }, signal);
    }
    const row = users.get(name);
    if (row === undefined) throw notFound(userResource, name);
    return row;
  }

  /** The caller's record. @throws StatusError 404 if there is none, 503 */
  async own(caller: Caller, signal: AbortSignal): Promise<UserRow> {
    const { users, accounts } = this.#options;
    await this.#options.lister.whenUsable(signal);
    const name = caller.user ?? accounts.ofSubject(caller.identity.name)?.name ?? '';
    const row = users.get(name);
    if (row === undefined || !isSelf(row, caller)) throw notFound(userResource, name);
    return row;
  }
}

const isSelf = (row: UserRow | undefined, { identity }: Caller): boolean =>
  row !== undefined && row.subjectName !== '' && row.subjectName === identity.name;
