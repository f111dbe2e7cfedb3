import { type ClusterObject, write } from '../../../../api/objects';

/** Marks a node for the scheduler. Resolves once the API server has stored it. */
export const cordon = (name: string, unschedulable: boolean): Promise<ClusterObject> =>
  write(`api/kubernetes/api/v1/nodes/${encodeURIComponent(name)}`, {
    method: 'PATCH',
    body: { spec: { unschedulable } },
    contentType: 'application/merge-patch+json',
  });
