import { podState } from '@atrium/objects/pod-state.ts';
import type { ClusterObject } from '../../../api/object-types.ts';
import { jobState } from '../sections/batch/job-state.ts';
import { readinessOf } from '../sections/pod/pod-state.ts';

/** Returns the state of an object in one word, as kubectl prints it; empty for one without a state. */
export function stateOf(object: ClusterObject): string {
  const { apiVersion, kind, metadata, status } = object;
  if (kind === 'Pod') return podState(object).word;
  if (kind === 'Job' && apiVersion === 'batch/v1') return jobState(object, new Date()).word;
  if (kind === 'Node' && apiVersion === 'v1') return nodeWord(object);
  if (metadata.deletionTimestamp) return 'Terminating';
  return typeof status?.phase === 'string' ? status.phase : '';
}

/** Source: printNode of kube-apiserver. */
function nodeWord(node: ClusterObject): string {
  const readiness = readinessOf(node);
  const word = readiness === undefined ? 'Unknown' : readiness === 'True' ? 'Ready' : 'NotReady';
  return node.spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}
