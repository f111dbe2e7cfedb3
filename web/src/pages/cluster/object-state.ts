import type { ClusterObject } from '../../api/objects';
import { podWord } from './sections/pod-state';

/** Returns the state of an object in one word; empty for one without a phase. */
export function stateOf(object: ClusterObject): string {
  const { kind, metadata, status } = object;
  if (kind === 'Pod') return podWord(object);
  if (metadata.deletionTimestamp) return 'Terminating';
  return typeof status?.phase === 'string' ? status.phase : '';
}
