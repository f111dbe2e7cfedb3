import { notFound } from '../api/status.ts';
import type { Lister } from '../collection/lister.ts';
import type { Page } from '../collection/page.ts';
import type { ListParameters } from '../collection/schema.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { groupResource } from '../users/record/local-groups.ts';
import { requireGroupRight } from './rights.ts';
import type { GroupRow } from './row.ts';

export interface GroupServiceOptions {
  cache: WatchCache<GroupRow>;
  lister: Lister<GroupRow>;
  access: AccessReviews;
}

/** Lists and shows groups out of the watch cache, after the API server has said that the caller may see them. */
export class GroupService {
  readonly #options: GroupServiceOptions;

  constructor(options: GroupServiceOptions) {
    this.#options = options;
  }

  /** A GroupList. @throws StatusError 400, 403, 410, 503, 504 */
  async list(parameters: ListParameters, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { lister, access } = this.#options;
    await requireGroupRight(access, caller, 'list', undefined, signal);
    return lister.list(parameters, signal);
  }

  /** @throws StatusError 403 whether or not there is such a group, 404, 503 */
  async get(name: string, caller: Caller, signal: AbortSignal): Promise<GroupRow> {
    const { cache, lister, access } = this.#options;
    await requireGroupRight(access, caller, 'get', name, signal);
    await lister.whenUsable(signal);
    const row = cache.get(name);
    if (row === undefined) throw notFound(groupResource, name);
    return row;
  }
}
