/** What kinds of objects the cluster has, by its own discovery. The browser keeps the answer and asks by its ETag whether it still holds. */
import { type Signal, signal } from '@preact/signals';
import { call } from './client';

export { kindId } from './object-types.ts';

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

interface Discovered {
  resource: string;
  responseKind?: { kind?: string };
  scope: 'Namespaced' | 'Cluster';
  verbs?: string[];
  shortNames?: string[];
  subresources?: { subresource: string }[];
}

interface Discovery {
  items?: { metadata: { name?: string }; versions?: { version: string; freshness?: string; resources?: Discovered[] }[] }[];
}

const Accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Groups in a version whose server the API server cannot reach: their kinds are missing, or as they were. */
export const staleGroups: Signal<readonly string[]> = signal([]);

let running: Promise<readonly Kind[]> | undefined;

/** The menu, the namespaces and the page ask at once: they get one answer. */
export function fetchKinds(): Promise<readonly Kind[]> {
  running ??= readKinds().finally(() => {
    running = undefined;
  });
  return running;
}

async function readKinds(): Promise<readonly Kind[]> {
  const answers = await Promise.all(
    ['api', 'apis'].map(async (path) => {
      const response = await call(`api/kubernetes/${path}`, { headers: { Accept } });
      return (await response.json()) as Discovery;
    }),
  );
  const groups = answers.flatMap(({ items = [] }) => items);
  staleGroups.value = groups.flatMap(({ metadata: { name = '' }, versions = [] }) =>
    versions.filter(({ freshness }) => freshness === 'Stale').map(({ version }) => `${name}/${version}`),
  );
  return groups.flatMap(kindsOf);
}

function kindsOf({ metadata: { name: group = '' }, versions = [] }: NonNullable<Discovery['items']>[number]): Kind[] {
  const seen = new Set<string>();
  return versions.flatMap(({ version, resources = [] }) =>
    resources.map(({ resource, responseKind, scope, verbs = [], shortNames = [], subresources = [] }) => {
      const isPreferred = !seen.has(resource);
      seen.add(resource);
      const kind = responseKind?.kind ?? resource;
      return {
        ...{ group, version, resource, kind, isPreferred, verbs, shortNames },
        title: titleOf(kind, resource),
        isNamespaced: scope === 'Namespaced',
        subresources: subresources.map(({ subresource }) => subresource),
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

export const isListable = ({ verbs }: Kind): boolean => verbs.includes('list');

interface Place {
  namespace?: string | undefined;
  name?: string | undefined;
  subresource?: string;
}

const segments = (...parts: readonly (string | undefined)[]) =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => encodeURIComponent(part as string))
    .join('/');

/** Where objects of a kind are at the Kubernetes API, below the base path. */
export function apiPath({ group, version, resource }: Kind, { namespace, name, subresource }: Place = {}): string {
  const root = group ? segments('apis', group, version) : segments('api', version);
  return `api/kubernetes/${root}/${segments(...(namespace ? ['namespaces', namespace] : []), resource, name, subresource)}`;
}

/** The page of a kind, or of one of its objects. */
export function pageOf(
  { group, version, resource }: Pick<Kind, 'group' | 'version' | 'resource'>,
  place: Place = {},
  tab?: string,
): string {
  const { namespace, name } = place;
  return `/r/${segments(group || 'core', version, resource, ...(namespace ? ['ns', namespace] : []), name, name && tab)}`;
}

/** The page of the events of a namespace, or of all namespaces. */
export const eventsPage = (namespace = ''): string => (namespace ? `/events/${encodeURIComponent(namespace)}` : '/events');
