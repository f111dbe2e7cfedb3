/** Finds objects of all kinds in the watch caches of their lists. */
import type { Collection } from '../collection/collection.ts';
import type { GroupRow } from '../groups/row.ts';
import { compressed, type Operation, operation } from '../http/operation.ts';
import type { ListsService } from '../lists/service.ts';
import type { Services } from '../services.ts';
import type { UserRow } from '../users/row.ts';
import { searchQuery, searchResult } from './schema.ts';
import { SearchService } from './service.ts';
import { groupSource, listSources, userSource } from './sources.ts';

const searchOperations = (service: SearchService): Operation[] => [
  operation({
    id: 'Search',
    method: 'GET',
    paths: ['/api/v2/search'],
    tag: 'search',
    summary: 'Searches users, groups and objects by name, label and image',
    description:
      'Searches users, groups and the kinds of `lists.resources`. Finds the objects that a list of the kind would show to the caller. `unsearched` names kinds that the caller may not list, or that are not loaded yet.',
    credential: 'required',
    before: [compressed],
    query: searchQuery,
    answers: {
      200: { description: 'The objects by kind, and the kinds that were not searched.', content: { 'application/json': searchResult } },
      400: { description: '`q` is missing, or a kind cannot be searched.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await service.search(query, caller, signal);
    },
  }),
];

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
