/** The progress of a workload, from its spec and status. Kubernetes API: apps/v1. */

import type { ClusterObject } from '../../../api/object-types.ts';

export interface Rollout {
  /** `unseen`: the controller has not read the latest change. */
  state: 'done' | 'progressing' | 'stuck' | 'paused' | 'unseen' | 'stopped';
  wanted: number;
  updated: number;
  ready: number;
  available: number;
  /** The words of the controller for a rollout that is stuck. */
  message: string;
}

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

interface Condition {
  type?: string;
  status?: string;
  message?: string;
}

export function rolloutOf({ kind, metadata, spec = {}, status = {} }: ClusterObject): Rollout {
  const isDaemonSet = kind === 'DaemonSet';
  const current = numberOf(isDaemonSet ? status.currentNumberScheduled : status.replicas);
  const counts = {
    wanted: isDaemonSet ? numberOf(status.desiredNumberScheduled) : numberOf(spec.replicas ?? 1),
    updated: kind === 'ReplicaSet' ? current : numberOf(isDaemonSet ? status.updatedNumberScheduled : status.updatedReplicas),
    ready: numberOf(isDaemonSet ? status.numberReady : status.readyReplicas),
    available: numberOf(isDaemonSet ? status.numberAvailable : status.availableReplicas),
  };
  const conditions = (Array.isArray(status.conditions) ? status.conditions : []) as Condition[];
  const failed = conditions.find(
    ({ type, status: is }) => (type === 'Progressing' && is === 'False') || (type === 'ReplicaFailure' && is === 'True'),
  );
  const isSeen = numberOf(status.observedGeneration) >= numberOf(metadata.generation);
  return { ...counts, state: stateOf(), message: failed?.message ?? '' };

  function stateOf(): Rollout['state'] {
    if (!isSeen) return 'unseen';
    const { wanted, updated, ready, available } = counts;
    const isDone = [updated, ready, available, current].every((count) => count === wanted);
    if (isDone) return wanted === 0 ? 'stopped' : 'done';
    if (spec.paused === true) return 'paused';
    return failed === undefined ? 'progressing' : 'stuck';
  }
}
