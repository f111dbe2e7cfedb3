/** Finds objects of all kinds in the watch caches of their lists. */
import type { Collection } from '../collection/collection.ts';
import type { GroupRow } from '../groups/row.ts';
import { type Operation, operation } from '../http/operation.ts';
import { compressed } from '../http/preparations.ts';
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
      'Searches users, groups and the kinds of `lists.resources`. Of each kind the caller gets what its list would show: all objects, or those of the namespaces in which the caller may list. A kind that the caller may not list, or that is not known yet, is named in `unsearched`.',
    credential: 'required',
    before: [compressed],
    query: searchQuery,
    answers: {
      200: { description: 'What was found, and what was not searched.', content: { 'application/json': searchResult } },
      400: { description: 'Without `q`, or with a kind that is not searched.' },
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
