/** The progress of a Job, from its spec and status, and its state as kubectl prints it. Source: printJob of kube-apiserver. */

import type { ClusterObject } from '../../../../api/object-types.ts';

/** Conditions that decide the state of a Job, in their order; `Terminating` stands for the deletion. */
const decisive = ['Complete', 'Failed', 'Terminating', 'Suspended', 'FailureTarget', 'SuccessCriteriaMet'] as const;

export interface JobState {
  word: (typeof decisive)[number] | 'Running';
  isFailing: boolean;
  /** The words of the controller for a Job that failed, or whose pods are ended because it fails. */
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

export function jobState({ metadata, spec = {}, status = {} }: ClusterObject, now: Date): JobState {
  const conditions = (Array.isArray(status.conditions) ? status.conditions : []) as Condition[];
  const held = (type: string) => conditions.find((condition) => condition.type === type && condition.status === 'True');
  const isDecided = (type: string) => (type === 'Terminating' ? metadata.deletionTimestamp : held(type)) !== undefined;
  const failure = held('Failed') ?? held('FailureTarget');
  const end = [timeOf(status.completionTime), timeOf(held('Failed')?.lastTransitionTime), now.getTime()].find(
    (time) => !Number.isNaN(time),
  );
  const seconds = Math.max(0, Math.floor(((end ?? 0) - timeOf(status.startTime)) / 1000));
  return {
    word: decisive.find(isDecided) ?? 'Running',
    isFailing: failure !== undefined,
    reason: failure?.reason ?? '',
    message: failure?.message ?? '',
    wanted: numberOf(spec.completions ?? 1),
    active: numberOf(status.active),
    succeeded: numberOf(status.succeeded),
    failed: numberOf(status.failed),
    ...(!Number.isNaN(seconds) && { seconds }),
  };
}

const units = [
  ['d', 86_400n],
  ['h', 3600n],
  ['m', 60n],
  ['s', 1n],
] as const;

/** Returns a duration of a setting in its two largest units: `1m30s`. */
export function durationText(seconds: number | bigint): string {
  let rest = BigInt(seconds);
  const parts = units.map(([unit, size]) => {
    const count = rest / size;
    rest %= size;
    return { count, text: `${count}${unit}` };
  });
  const first = parts.findIndex(({ count }) => count > 0n);
  if (first < 0) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(({ count }) => count > 0n)
    .map(({ text }) => text)
    .join('');
}

/** Returns the text of a field in seconds, which may be an int64; undefined for one that is not set. */
export const secondsText = (value: unknown): string | undefined =>
  typeof value === 'bigint' || Number.isInteger(value) ? durationText(value as number | bigint) : undefined;
