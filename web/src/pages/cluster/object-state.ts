import type { ClusterObject } from '../../api/objects';
import { jobState } from './sections/job-state';
import { isReady, podWord } from './sections/pod-state';

/** Returns the state of an object in one word, as kubectl prints it; empty for one without a state. */
export function stateOf(object: ClusterObject): string {
  const { apiVersion, kind, metadata, status } = object;
  if (kind === 'Pod') return podWord(object);
  if (metadata.deletionTimestamp) return 'Terminating';
  if (kind === 'Job' && apiVersion === 'batch/v1') return jobState(object, new Date()).word;
  if (kind === 'Node' && apiVersion === 'v1') return nodeWord(object);
  return typeof status?.phase === 'string' ? status.phase : '';
}

const nodeWord = (node: ClusterObject): string =>
  [isReady(node) ? 'Ready' : 'NotReady', ...(node.spec?.unschedulable === true ? ['SchedulingDisabled'] : [])].join(',');
