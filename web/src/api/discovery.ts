/** Aggregated discovery of the API server. */

export interface Kind {
  /** `''` for the core group. */
  group: string;
  version: string;
  /** The plural, as in paths. */
  resource: string;
  kind: string;
  /** The plural as a title: `ConfigMaps`. */
  title: string;
  isNamespaced: boolean;
  /** The version that the cluster prefers of those that it has. */
  isPreferred: boolean;
  verbs: readonly string[];
  subresources: readonly string[];
  shortNames: readonly string[];
}

/** kube-apiserver sends `verbs: null` for the parent that it adds to a subresource without one. */
interface Discovered {
  resource: string;
  responseKind?: { kind?: string };
  scope: 'Namespaced' | 'Cluster';
  verbs?: string[] | null;
  shortNames?: string[] | null;
  subresources?: { subresource: string }[] | null;
}

export interface Discovery {
  items?: Group[];
}

interface Group {
  metadata: { name?: string };
  versions?: { version: string; freshness?: string; resources?: Discovered[] }[];
}

export const discoveryAccept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Returns the versions of a group whose server the API server cannot reach: their kinds are missing or outdated. */
export const staleVersionsOf = ({ metadata: { name = '' }, versions = [] }: Group): string[] =>
  versions.filter(({ freshness }) => freshness === 'Stale').map(({ version }) => `${name}/${version}`);

/** Returns the kinds of a group, in all of its versions. */
export function kindsOf({ metadata: { name: group = '' }, versions = [] }: Group): Kind[] {
  const seen = new Set<string>();
  return versions.flatMap(({ version, resources = [] }) =>
    resources.map(({ resource, responseKind, scope, verbs, shortNames, subresources }) => {
      const isPreferred = !seen.has(resource);
      seen.add(resource);
      const kind = responseKind?.kind ?? resource;
      return {
        ...{ group, version, resource, kind, isPreferred, verbs: verbs ?? [], shortNames: shortNames ?? [] },
        title: titleOf(kind, resource),
        isNamespaced: scope === 'Namespaced',
        subresources: (subresources ?? []).map(({ subresource }) => subresource),
      };
    }),
  );
}

/** `NetworkPolicy` and `networkpolicies` make `NetworkPolicies`. */
function titleOf(kind: string, resource: string): string {
  const lower = kind.toLowerCase();
  let same = 0;
  while (same < lower.length && lower[same] === resource[same]) same += 1;
  return same === 0 ? resource : kind.slice(0, same) + resource.slice(same);
}
