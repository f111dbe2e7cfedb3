import { apiPath, type Kind } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson } from '../../../../api/objects';
import { useWatch } from '../../../../api/watch';
import { may, type Right } from '../../../../app/rights';

interface PodList {
  metadata: { continue?: string; resourceVersion: string };
  items: readonly ClusterObject[] | null;
}

/** Kubernetes supports 110 pods on a node by default, and rarely above 500. */
const limit = 1000;

export interface NodePods {
  pods: readonly ClusterObject[];
  /** The node has more pods than were listed. */
  isPartial: boolean;
  resourceVersion: string;
}

export const podsRight = (verb: string): Right => ({ verb, group: '', resource: 'pods' });

const selectorOf = (node: string) => `spec.nodeName=${node}`;

/** Lists the pods of a node. Requires the right to list pods. */
export async function listNodePods(pods: Kind, node: string, signal: AbortSignal): Promise<NodePods> {
  const query = new URLSearchParams({ fieldSelector: selectorOf(node), limit: String(limit) });
  const { items, metadata } = await getJson<PodList>(`${apiPath(pods)}?${query}`, signal);
  return {
    // The API server leaves the kind out of the items of a list.
    pods: (items ?? []).map((pod) => ({ ...pod, apiVersion: 'v1', kind: 'Pod' })),
    isPartial: Boolean(metadata.continue),
    resourceVersion: metadata.resourceVersion,
  };
}

/** Loads the pods of a node, and follows them. Requires the right to list pods. */
export function useNodePods(pods: Kind | undefined, node: string) {
  const [path, fieldSelector] = [pods && apiPath(pods), selectorOf(node)];
  const isAllowed = path !== undefined && may(podsRight('list')) === true;
  const load = useLoad(isAllowed ? `nodePods/${node}` : undefined, (signal) => listNodePods(pods as Kind, node, signal));
  const isWatched = isAllowed && may(podsRight('watch')) === true;
  const resourceVersion = load.data.value?.resourceVersion;
  const lost = useWatch({ path: isWatched ? path : undefined, fieldSelector, resourceVersion }, load.reload);
  return { load, lost };
}
