/** The progress of a workload, from its spec and status. Source: `kubectl rollout status`. */

import { listOf, membersOf, numberOf, textOf } from './members.ts';

export interface Rollout {
  /** `unseen`: the controller has not read the latest change. */
  state: 'done' | 'progressing' | 'stuck' | 'paused' | 'unseen' | 'stopped';
  wanted: number;
  updated: number;
  ready: number;
  available: number;
  /** Why a rollout is stuck, in a word and in the words of the controller. */
  reason: string;
  message: string;
}

/** A ReplicaSet has pods of a single revision, and counts no updated ones. */
const isOneRevision = (kind: unknown): boolean => kind === 'ReplicaSet' || kind === 'ReplicationController';

/** @param object a Deployment, ReplicaSet, StatefulSet, DaemonSet or ReplicationController */
export function rolloutOf(object: unknown): Rollout {
  const { kind, ...parts } = membersOf(object);
  const [metadata, spec, status] = [membersOf(parts.metadata), membersOf(parts.spec), membersOf(parts.status)];
  const isDaemonSet = kind === 'DaemonSet';
  const current = numberOf(isDaemonSet ? status.currentNumberScheduled : status.replicas);
  const counts = {
    wanted: isDaemonSet ? numberOf(status.desiredNumberScheduled) : numberOf(spec.replicas ?? 1),
    updated: isOneRevision(kind) ? current : numberOf(isDaemonSet ? status.updatedNumberScheduled : status.updatedReplicas),
    ready: numberOf(isDaemonSet ? status.numberReady : status.readyReplicas),
    available: numberOf(isDaemonSet ? status.numberAvailable : status.availableReplicas),
  };
  const failed = listOf(status.conditions).find(
    ({ type, status: is }) => (type === 'Progressing' && is === 'False') || (type === 'ReplicaFailure' && is === 'True'),
  );
  const isSeen = numberOf(status.observedGeneration) >= numberOf(metadata.generation);
  const isLate = failed?.reason === 'ProgressDeadlineExceeded';
  return { ...counts, state: stateOf(), reason: textOf(failed?.reason), message: textOf(failed?.message) };

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
    const { type, rollingUpdate } = membersOf(spec.updateStrategy);
    const isUniform = status.updateRevision === status.currentRevision;
    // Pods are replaced when they are deleted, whenever that is.
    const toUpdate = type === 'OnDelete' ? 0 : wanted - numberOf(membersOf(rollingUpdate).partition);
    if (kind === 'Deployment') return updated >= wanted && current <= updated && available >= updated;
    if (kind === 'DaemonSet') return updated >= toUpdate && available >= wanted;
    if (kind === 'StatefulSet') return ready >= wanted && (type === 'OnDelete' || (rollingUpdate ? updated >= toUpdate : isUniform));
    return [current, ready, available].every((count) => count === wanted);
  }
}
