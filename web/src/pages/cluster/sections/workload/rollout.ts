/** The progress of a workload, from its spec and status. Source: `kubectl rollout status`. */

import type { ClusterObject } from '../../../../api/object-types.ts';

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
  reason?: string;
  message?: string;
}

interface Strategy {
  type?: string;
  rollingUpdate?: { partition?: number };
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
  const isLate = failed?.reason === 'ProgressDeadlineExceeded';
  return { ...counts, state: stateOf(), message: failed?.message ?? '' };

  function stateOf(): Rollout['state'] {
    if (!isSeen) return 'unseen';
    if (isLate) return 'stuck';
    // Unlike kubectl, the page also reports a scale down.
    if (isRolledOut() && (isDaemonSet || current <= counts.wanted)) return counts.wanted === 0 ? 'stopped' : 'done';
    if (spec.paused === true) return 'paused';
    return failed === undefined ? 'progressing' : 'stuck';
  }

  function isRolledOut(): boolean {
    const { wanted, updated, ready, available } = counts;
    const { type, rollingUpdate } = (spec.updateStrategy ?? {}) as Strategy;
    const isOneRevision = status.updateRevision === status.currentRevision;
    // Pods are replaced when they are deleted, whenever that is.
    const toUpdate = type === 'OnDelete' ? 0 : wanted - (rollingUpdate?.partition ?? 0);
    if (kind === 'Deployment') return updated >= wanted && current <= updated && available >= updated;
    if (kind === 'DaemonSet') return updated >= toUpdate && available >= wanted;
    if (kind === 'StatefulSet') return ready >= wanted && (type === 'OnDelete' || (rollingUpdate ? updated >= toUpdate : isOneRevision));
    return [current, ready, available].every((count) => count === wanted);
  }
}
