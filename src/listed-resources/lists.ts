/**
 * Lists of the resources that `lists.resources` names, with filters, order, pages, counts and live events, limited to the objects that the
 * caller may list. No other resource is watched. Lists are served from watch caches; whole objects are served by the Kubernetes API
 * (`proxy`).
 */
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import type { Namespaces } from '../access/namespaces.ts';
import type { Feature, Services } from '../services.ts';
import { ListedResource } from './listed-resource.ts';
import { listOperations } from './routes.ts';
import { ListsService } from './service.ts';

/** Operations of the feature, and its watches. */
interface Lists extends Feature {
  service: ListsService;
}

/** Creates the feature. @param allowed undefined if no resource is listed */
export function createLists(services: Services, allowed: Namespaces['allowed'] | undefined, again: WhileAllowedOptions['again']): Lists {
  const { config, longRequests } = services;
  const guard = { again, accessCacheMs: config.kubernetes.accessCache, longRequests };
  const resources = new Map(
    config.lists.resources.map((setting) => {
      const { group, version, resource } = setting;
      return [`${group}/${version}/${resource}`, new ListedResource(services, setting, guard)];
    }),
  );
  const all = [...resources.values()];
  const failure = () => all.map((listed) => listed.failure()).find((why) => why !== undefined);
  const leftOut = () => all.map((listed) => listed.leftOut()).find((why) => why !== undefined);
  const service = new ListsService(services, resources, allowed);
  return {
    service,
    operations: listOperations(service),
    checks:
      all.length === 0
        ? []
        : [
            { name: 'lists', critical: false, isAwaited: true, failure },
            { name: 'printer-columns', critical: false, failure: leftOut },
          ],
    start() {
      for (const listed of all) listed.start();
    },
    async stop() {
      await Promise.all(all.map((listed) => listed.stop()));
    },
  };
}
