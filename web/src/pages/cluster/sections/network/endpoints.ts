/** Endpoints of a Service out of its EndpointSlices. Kubernetes API: discovery.k8s.io/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

interface Target {
  kind: string;
  name: string;
  namespace?: string;
  uid?: string;
}

export interface Endpoint {
  id: string;
  addresses: readonly string[];
  /** `Draining`: terminating, and still answering. */
  state: 'Ready' | 'NotReady' | 'Draining' | 'Terminating';
  node?: string;
  zone?: string;
  target?: Target;
}

interface Given {
  addresses?: readonly string[];
  conditions?: { ready?: boolean | null; serving?: boolean | null; terminating?: boolean | null };
  nodeName?: string;
  zone?: string;
  targetRef?: Target;
}

/** An unknown condition counts as ready, as the API says of it. */
function stateOf({ ready, serving, terminating }: NonNullable<Given['conditions']> = {}): Endpoint['state'] {
  if (terminating === true) return (serving ?? ready ?? true) ? 'Draining' : 'Terminating';
  return (ready ?? true) ? 'Ready' : 'NotReady';
}

function endpointOf({ addresses = [], conditions, nodeName, zone, targetRef }: Given): Endpoint {
  const target = targetRef && `${targetRef.kind}/${targetRef.namespace ?? ''}/${targetRef.name}/${targetRef.uid ?? ''}`;
  return {
    ...{ id: target ?? addresses.join(), addresses, state: stateOf(conditions) },
    ...(nodeName && { node: nodeName }),
    ...(zone && { zone }),
    ...(targetRef && { target: targetRef }),
  };
}

/** Counts the endpoints of Services by their namespace and name. */
export function endpointCounts(slices: readonly ClusterObject[]): ReadonlyMap<string, { ready: number; all: number }> {
  const byService = Map.groupBy(slices, ({ metadata }) => `${metadata.namespace}/${metadata.labels?.['kubernetes.io/service-name']}`);
  const counts = [...byService].map(([service, those]) => {
    const endpoints = endpointsOf(those);
    return [service, { ready: endpoints.filter(({ state }) => state === 'Ready').length, all: endpoints.length }] as const;
  });
  return new Map(counts);
}

const isBroken = (state: Endpoint['state']): boolean => state !== 'Ready';

/**
 * Merges the slices of both address families, and of a slice that is moved: an endpoint of a pod is listed once. Broken ones come first.
 */
export function endpointsOf(slices: readonly ClusterObject[]): Endpoint[] {
  const merged = new Map<string, Endpoint>();
  for (const slice of slices) {
    for (const endpoint of ((slice.endpoints ?? []) as readonly Given[]).map(endpointOf)) {
      const seen = merged.get(endpoint.id);
      merged.set(endpoint.id, { ...endpoint, addresses: [...new Set([...(seen?.addresses ?? []), ...endpoint.addresses])] });
    }
  }
  return [...merged.values()].sort((a, b) => Number(isBroken(b.state)) - Number(isBroken(a.state)) || (a.id < b.id ? -1 : 1));
}
