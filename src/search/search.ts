/** Finds objects of all kinds in the watch caches of their lists. */
import type { Collection } from '../collection/collection.ts';
import type { GroupRow } from '../groups/row.ts';
import type { Operation } from '../http/operation.ts';
import type { ListsService } from '../lists/service.ts';
import type { Services } from '../services.ts';
import type { UserRow } from '../users/row.ts';
import { searchOperations } from './routes.ts';
import { SearchService } from './service.ts';
import { groupSource, listSources, userSource } from './sources.ts';

interface SearchNeeds {
  users: Collection<UserRow>;
  /** Undefined if groups are disabled. */
  groups: Collection<GroupRow> | undefined;
  lists: ListsService;
}

export function createSearch(services: Services, { users, groups, lists }: SearchNeeds): { operations: Operation[] } {
  const own = [userSource(services, users), ...(groups ? [groupSource(services, groups)] : [])];
  return { operations: searchOperations(new SearchService([...own, ...listSources(lists, own)])) };
}
