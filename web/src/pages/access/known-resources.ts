/** Resources that the cluster serves, by `name.group`, as kubectl writes them. */

import { base } from '../../api/client';
import { inView } from '../../api/view';
import type { Right } from '../../app/rights';

interface Kinds {
  items: { metadata: { name?: string }; versions: { freshness?: string; resources: { resource: string }[] }[] }[];
}

export interface Known {
  names: string[];
  /** False while discovery lacks a group. */
  isWhole: boolean;
}

/** Discovery lists neither all resources nor the objects of impersonation. */
export const isVirtual = (right: Right): boolean => right.resource.includes('*') || right.verb === 'impersonate';

export async function fetchResources(signal: AbortSignal): Promise<Known> {
  const Accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const lists = await Promise.all(
    ['api', 'apis'].map(async (path) => {
      const response = await fetch(inView(new Request(new URL(`api/kubernetes/${path}`, base), { headers: { Accept }, signal })));
      return response.ok ? ((await response.json()) as Partial<Kinds>).items : undefined;
    }),
  );
  const names = lists.flatMap((list) =>
    (list ?? []).flatMap(({ metadata, versions }) =>
      versions.flatMap((version) => version.resources.map(({ resource }) => (metadata.name ? `${resource}.${metadata.name}` : resource))),
    ),
  );
  const isStale = lists.some((list) => list?.some(({ versions }) => versions.some(({ freshness }) => freshness === 'Stale')));
  return { names: [...new Set(names)].sort(), isWhole: lists.every((list) => list !== undefined) && !isStale };
}
