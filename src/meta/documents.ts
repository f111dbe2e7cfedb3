/**
 * Groups, versions and resources of the service, in both forms that clients request: group by group, and aggregated.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */

/** A cluster-scoped resource. Each resource of the service has its own group. */
export interface ServedResource {
  group: string;
  version: string;
  resource: string;
  singular: string;
  kind: string;
  /** Verbs of the service. The cluster may offer more at its own address. */
  verbs: readonly string[];
  shortNames?: readonly string[];
  categories?: readonly string[];
}

const metaOf = ({ group, version }: ServedResource) => {
  const preferredVersion = { groupVersion: `${group}/${version}`, version };
  return { name: group, versions: [preferredVersion], preferredVersion };
};

/** APIGroup, meta/v1. */
export const apiGroup = (served: ServedResource) => ({ kind: 'APIGroup' as const, apiVersion: 'v1' as const, ...metaOf(served) });

/** APIGroupList, meta/v1. */
export const apiGroupList = (served: readonly ServedResource[]) => ({
  kind: 'APIGroupList' as const,
  apiVersion: 'v1' as const,
  groups: served.map(metaOf),
});

/** APIResourceList, meta/v1. */
export function apiResourceList({ group, version, resource, singular, kind, verbs, shortNames, categories }: ServedResource) {
  const described = {
    name: resource,
    singularName: singular,
    namespaced: false,
    kind,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
  };
  return { kind: 'APIResourceList' as const, apiVersion: 'v1' as const, groupVersion: `${group}/${version}`, resources: [described] };
}

/** APIGroupDiscoveryList, apidiscovery.k8s.io: the first request of clients since Kubernetes 1.27. */
export const apiGroupDiscoveryList = (served: readonly ServedResource[], version: 'v2' | 'v2beta1') => ({
  kind: 'APIGroupDiscoveryList' as const,
  apiVersion: `apidiscovery.k8s.io/${version}` as const,
  metadata: {},
  items: served.map((one) => ({
    metadata: { name: one.group, creationTimestamp: null },
    versions: [{ version: one.version, freshness: 'Current', resources: [discoveredResource(one)] }],
  })),
});

const discoveredResource = ({ group, version, resource, singular, kind, verbs, shortNames, categories }: ServedResource) => ({
  resource,
  responseKind: { group, version, kind },
  scope: 'Cluster',
  singularResource: singular,
  verbs,
  ...(shortNames && { shortNames }),
  ...(categories && { categories }),
});
