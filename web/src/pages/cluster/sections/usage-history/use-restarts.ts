import { apiPath, type Kind } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson } from '../../../../api/objects';
import { usePoll } from '../../../../api/poll';
import { may, type Right, useRights } from '../../../../app/rights';
import { useOwnPods } from '../pod/own-pods';
import { selectedLabels } from '../selector';
import { restartsOf, type UsageMark } from './usage-marks';

const podKind = { group: '', version: 'v1', resource: 'pods' } as Kind;
const everyMs = 60_000;
/** Pods that are read for their restarts. */
const limit = '200';

/** Reads the restarts of the pods of a workload again and again; none for a caller who may not list pods. */
export function useRestarts(kind: Kind, object: ClusterObject): readonly UsageMark[] {
  const { namespace } = object.metadata;
  const labelSelector = selectedLabels(object);
  const right: Right = { verb: 'list', group: '', resource: 'pods', ...(namespace && { namespace }) };
  useRights([right]);
  const isOwn = useOwnPods(kind, object);
  const path = `${apiPath(podKind, { namespace })}?${new URLSearchParams({ labelSelector, limit })}`;
  const load = useLoad(labelSelector !== '' && may(right) === true ? `usage-restarts/${path}` : undefined, (signal) =>
    getJson<{ items?: readonly ClusterObject[] | null }>(path, signal),
  );
  usePoll(load, everyMs);
  if (isOwn === undefined) return [];
  return (load.data.value?.items ?? []).filter(isOwn).flatMap(restartsOf);
}
