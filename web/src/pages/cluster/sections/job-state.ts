/** The progress of a Job, from its spec and status. Kubernetes API: batch/v1. */

import type { ClusterObject } from '../../../api/object-types.ts';

export interface JobState {
  word: 'Complete' | 'Failed' | 'Suspended' | 'Running' | 'Pending';
  /** The words of the controller for a Job that failed. */
  reason: string;
  message: string;
  wanted: number;
  active: number;
  succeeded: number;
  failed: number;
  /** Unset before the start. */
  seconds?: number;
}

interface Condition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const timeOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NaN);

export function jobState({ spec = {}, status = {} }: ClusterObject, now: Date): JobState {
  const conditions = (Array.isArray(status.conditions) ? status.conditions : []) as Condition[];
  const held = (type: string) => conditions.find((condition) => condition.type === type && condition.status === 'True');
  const failure = held('Failed') ?? held('FailureTarget');
  const end = [timeOf(status.completionTime), timeOf(failure?.lastTransitionTime), now.getTime()].find((time) => !Number.isNaN(time));
  const seconds = Math.max(0, Math.floor(((end ?? 0) - timeOf(status.startTime)) / 1000));
  return {
    word: wordOf(),
    reason: failure?.reason ?? '',
    message: failure?.message ?? '',
    wanted: numberOf(spec.completions ?? spec.parallelism ?? 1),
    active: numberOf(status.active),
    succeeded: numberOf(status.succeeded),
    failed: numberOf(status.failed),
    ...(!Number.isNaN(seconds) && { seconds }),
  };

  function wordOf(): JobState['word'] {
    if (held('Complete')) return 'Complete';
    if (failure) return 'Failed';
    if (spec.suspend === true) return 'Suspended';
    return numberOf(status.active) > 0 ? 'Running' : 'Pending';
  }
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** Returns a duration in its two largest units, as kubectl prints it: `3m12s`. */
export function durationText(seconds: number): string {
  let rest = seconds;
  const parts = units.map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return { count, text: `${count}${unit}` };
  });
  const first = parts.findIndex(({ count }) => count > 0);
  if (first < 0) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(({ count }) => count > 0)
    .map(({ text }) => text)
    .join('');
}
