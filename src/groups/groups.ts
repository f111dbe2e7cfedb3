/**
 * Groups of users that the service stores: operations, members and status. RBAC bindings grant their rights: a local group is the group
 * `local:NAME` in Kubernetes.
 */
import { type Collection, collection } from '@atrium/lists/collection.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import { followedLists } from '../collection/followed-lists.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import type { Feature, Services } from '../services.ts';
import { groupResource, LocalGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { groupsController } from './controller.ts';
import { groupDefinition } from './definition.ts';
import { listMemberships } from './members.ts';
import { memberOperations } from './routes.ts';
import { type GroupRow, groupProperties, groupRow } from './row.ts';

const collected = { resource: groupResource, kind: 'Group', row: groupRow, properties: groupProperties };

/** Watch of all Groups. Create it before the collection is started. */
interface WatchedGroups {
  collection: Collection<GroupRow>;
  localGroups: LocalGroups;
}

export function watchGroups(services: Services): WatchedGroups {
  const groups = collection(services, collected);
  return { collection: groups, localGroups: new LocalGroups(groups.cache) };
}

/** @param again checks the credential of a request again */
export function createGroups(
  services: Services,
  { collection: groups, localGroups }: WatchedGroups,
  { accounts, again }: { accounts: AccountLookup; again: WhileAllowedOptions['again'] },
): Feature {
  const context = { services, groups, accounts };
  const controller = groupsController(context, localGroups);
  return {
    operations: [
      ...standardOperations(services, groups, groupDefinition(context), followedLists(services, groups, collected, again)),
      ...memberOperations(context),
      listMemberships(context, localGroups),
    ],
    checks: [groups.check],
    start() {
      groups.start();
      controller.start();
    },
    async stop() {
      await controller.stop();
      await groups.stop();
    },
  };
}
