import { apiPath, type Kind } from '../../../../api/kinds';
import { tableAccept } from '../../../../api/list-path';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson, type ServerTable, type TableColumn } from '../../../../api/objects';
import { useWatch } from '../../../../api/watch';
import { may, type Right } from '../../../../app/rights';

interface PodTable extends Omit<ServerTable, 'rows'> {
  rows: { cells: unknown[]; object: ClusterObject }[] | null;
}

/** Kubernetes supports 110 pods on a node by default, and rarely above 500. */
const limit = 1000;

interface NodePod {
  pod: ClusterObject;
  /** The state as the API server prints it for kubectl. */
  status: string;
}

export interface NodePods {
  pods: readonly NodePod[];
  /** The node has more pods than were listed. */
  isPartial: boolean;
  resourceVersion: string;
}

export const podsRight = (verb: string): Right => ({ verb, group: '', resource: 'pods' });

const selectorOf = (node: string) => `spec.nodeName=${node}`;

/** Lists the pods of a node with their state. Requires the right to list pods. */
export async function listNodePods(pods: Kind, node: string, signal: AbortSignal): Promise<NodePods> {
  const query = new URLSearchParams({ fieldSelector: selectorOf(node), limit: String(limit), includeObject: 'Object' });
  const { rows, columnDefinitions, metadata } = await getJson<PodTable>(`${apiPath(pods)}?${query}`, signal, tableAccept);
  const at = (columnDefinitions ?? ([] as TableColumn[])).findIndex(({ name }) => name === 'Status');
  return {
    pods: (rows ?? []).map(({ cells, object }) => ({ pod: object, status: String(cells[at] ?? '') })),
    isPartial: Boolean(metadata.continue),
    resourceVersion: metadata.resourceVersion,
  };
}

/** Loads the pods of a node with their cells, and follows them. Requires the right to list pods. */
export function useNodePods(pods: Kind | undefined, node: string) {
  const [path, fieldSelector] = [pods && apiPath(pods), selectorOf(node)];
  const isAllowed = path !== undefined && may(podsRight('list')) === true;
  const load = useLoad(isAllowed ? `nodePods/${node}` : undefined, (signal) => listNodePods(pods as Kind, node, signal));
  const isWatched = isAllowed && may(podsRight('watch')) === true;
  const resourceVersion = load.data.value?.resourceVersion;
  const lost = useWatch({ path: isWatched ? path : undefined, fieldSelector, resourceVersion }, load.reload);
  return { load, lost };
}
