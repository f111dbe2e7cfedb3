/**
 * Discovery of groups, versions and resources, one by one or aggregated.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */

import { apiVersionOf, type ResourceRegistry } from './resources.ts';
import { virtualResources } from './virtual-resources.ts';

/** A resource as both forms of discovery describe it. */
interface Described {
  group: string;
  version: string;
  resource: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  verbs: readonly string[];
  shortNames: readonly string[];
  categories: readonly string[];
  subresources: { name: string; group: string; version: string; kind: string; verbs: readonly string[] }[];
}

function describedResources(registry: ResourceRegistry): Described[] {
  const stored = registry.all().map((type): Described => {
    const subresources: Described['subresources'] = [];
    for (const name of [...(type.hasStatus ? ['status'] : []), ...type.subresources, ...Object.keys(type.specParts ?? {})])
      subresources.push({ name, group: type.group, version: type.version, kind: type.kind, verbs: ['get', 'patch', 'update'] });
    for (const [name, answer] of Object.entries(type.answers ?? {})) subresources.push({ ...answer, name });
    return { ...type, subresources };
  });
  const virtual = virtualResources.map(
    ({ group, resource, kind, isNamespaced = false }): Described => ({
      ...{ group, version: 'v1', resource, kind, singular: kind.toLowerCase(), namespaced: isNamespaced },
      ...{ verbs: ['create'], shortNames: [], categories: [], subresources: [] },
    }),
  );
  return [...stored, ...virtual].sort((a, b) => (a.resource < b.resource ? -1 : 1));
}

/** Version by group, in the order in which clients prefer the groups. */
function groupVersions(registry: ResourceRegistry): Map<string, string> {
  return new Map(
    describedResources(registry)
      .map(({ group, version }) => [group, version] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

const apiGroup = (name: string, version: string) => {
  const preferredVersion = { groupVersion: `${name}/${version}`, version };
  return { name, versions: [preferredVersion], preferredVersion };
};

export const coreVersions = (address: string) => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

export function groupList(registry: ResourceRegistry) {
  const groups = [...groupVersions(registry)].filter(([name]) => name !== '').map(([name, version]) => apiGroup(name, version));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

export function groupOf(registry: ResourceRegistry, name: string) {
  const version = name === '' ? undefined : groupVersions(registry).get(name);
  return version && { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(name, version) };
}

export function resourceList(registry: ResourceRegistry, group: string, version: string) {
  const described = describedResources(registry).filter((one) => one.group === group && one.version === version);
  if (described.length === 0) return undefined;
  const resources = described.flatMap(({ resource, singular, namespaced, kind, verbs, shortNames, categories, subresources }) => [
    {
      name: resource,
      singularName: singular,
      namespaced,
      kind,
      verbs,
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
    },
    ...subresources.map((sub) => ({
      name: `${resource}/${sub.name}`,
      singularName: '',
      namespaced,
      ...(sub.group !== group && { group: sub.group, version: sub.version }),
      kind: sub.kind,
      verbs: sub.verbs,
    })),
  ]);
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf({ group, version }), resources };
}

/** Everything in one answer; the core group alone at `/api`, all others at `/apis`. */
export function aggregatedDiscovery(registry: ResourceRegistry, isCore: boolean, version: string) {
  const described = describedResources(registry);
  const items = [...groupVersions(registry)]
    .filter(([group]) => (group === '') === isCore)
    .map(([group, groupVersion]) => ({
      metadata: { name: group, creationTimestamp: null },
      versions: [
        {
          version: groupVersion,
          resources: described.filter((one) => one.group === group).map(aggregatedResource),
          freshness: 'Current',
        },
      ],
    }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function aggregatedResource({
  group,
  version,
  resource,
  singular,
  kind,
  namespaced,
  verbs,
  shortNames,
  categories,
  subresources,
}: Described) {
  return {
    resource,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(subresources.length > 0 && {
      subresources: subresources.map((sub) => ({
        subresource: sub.name,
        responseKind: { group: sub.group, version: sub.version, kind: sub.kind },
        verbs: sub.verbs,
      })),
    }),
  };
}
