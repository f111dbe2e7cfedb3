/**
 * UserBindings: a ClusterRole for users and groups, on the whole platform, in projects or in namespaces. Operations manage them, and a
 * controller creates their RBAC.
 */
import { type Collection, collection } from '@atrium/lists/collection.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import { followedLists } from '../collection/followed-lists.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import type { Feature, Services } from '../services.ts';
import { type BindingSources, bindingsController, DependencyIndex } from './controller.ts';
import { bindingDefinition } from './definition.ts';
import { BindingEnds, ownEnds } from './ends.ts';
import { bindableRolesOperation } from './routes.ts';
import { bindingProperties, type UserBindingRow, userBindingRow } from './row.ts';
import { userBindingResource } from './schema.ts';

const collected = { resource: userBindingResource, kind: 'UserBinding', row: userBindingRow, properties: bindingProperties };

/** Watch of all UserBindings. Create it before the collection is started. */
interface WatchedUserBindings {
  collection: Collection<UserBindingRow>;
  references: DependencyIndex;
  /** Reports whether a UserBinding names that record or Group. @throws StatusError 503 while the UserBindings are unknown or outdated */
  names(kind: 'User' | 'Group', name: string): boolean;
}

export function watchUserBindings(services: Services): WatchedUserBindings {
  const bindings = collection(services, collected);
  const references = new DependencyIndex();
  bindings.cache.onChange((change) => references.record(change));
  return {
    collection: bindings,
    references,
    names(kind, name) {
      if (bindings.cache.outdated() !== undefined) throw bindings.cache.unavailable();
      return references.of(kind, name).size > 0;
    },
  };
}

/** @param needs the users and groups that UserBindings name, and the repeated check of a credential of live lists */
export function createBindings(
  services: Services,
  { collection: bindings, references }: WatchedUserBindings,
  needs: Pick<BindingSources, 'accounts' | 'localGroups' | 'groups'> & Partial<Pick<WhileAllowedOptions, 'again'>>,
): Feature {
  const { accounts, localGroups, groups, again } = needs;
  const controller = bindingsController(services, { bindings: bindings.cache, references, accounts, localGroups, groups });
  const ends = new BindingEnds(services, bindings.cache, ownEnds(bindings.cache));
  return {
    operations: [
      ...standardOperations(
        services,
        bindings,
        bindingDefinition(services, bindings.cache, accounts),
        again && followedLists(services, bindings, collected, again),
      ),
      bindableRolesOperation(services),
    ],
    checks: [bindings.check],
    start() {
      ends.start();
      bindings.start();
      controller.start();
    },
    async stop() {
      await Promise.all([controller.stop(), ends.stop()]);
      await bindings.stop();
    },
  };
}
