import { apiPath, type Kind, kindId } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson, metadataOnly } from '../../../../api/objects';
import { useWatch } from '../../../../api/watch';
import { may, type Right, useRights } from '../../../../app/rights';
import { selectedLabels } from '../selector';
import { controlsPods, isPodOf, type Owned } from './pod-owner';

const setKind = { group: 'apps', version: 'v1', resource: 'replicasets' } as Kind;

interface OwnedList {
  metadata: { resourceVersion: string };
  items: readonly Owned[] | null;
}

const isAny = () => true;

/** Returns a test for the pods of an object: those that a workload controls, else all. Undefined until the ReplicaSets are known. */
export function useOwnPods(kind: Pick<Kind, 'group' | 'resource'>, object: ClusterObject): ((pod: Owned) => boolean) | undefined {
  const { namespace } = object.metadata;
  const isDeployment = kindId(kind) === 'deployments.apps';
  const right = (verb: string): Right => ({ verb, group: 'apps', resource: 'replicasets', ...(namespace && { namespace }) });
  const [list, watch] = [right('list'), right('watch')];
  useRights(isDeployment ? [list, watch] : []);
  const path = isDeployment && may(list) === true ? apiPath(setKind, { namespace }) : undefined;
  const labelSelector = selectedLabels(object);
  const query = new URLSearchParams({ labelSelector, limit: '500' });
  const load = useLoad(path && `owners/${path}?${query}`, (signal) => getJson<OwnedList>(`${path}?${query}`, signal, metadataOnly));
  const { resourceVersion } = load.data.value?.metadata ?? {};
  useWatch({ path: may(watch) === true ? path : undefined, labelSelector, resourceVersion }, load.reload);
  if (!controlsPods(kind)) return isAny;
  const isReading = path ? !load.data.value && !load.error.value : isDeployment && may(list) === undefined;
  return isReading ? undefined : isPodOf(kind, object, load.data.value && (load.data.value.items ?? []));
}
