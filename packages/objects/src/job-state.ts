/** The progress of a Job, from its spec and status, and its state as kubectl prints it. Source: printJob of kube-apiserver. */

import { listOf, membersOf, numberOf, textOf } from './members.ts';

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

const timeOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NaN);

export function jobState(object: unknown, now: Date): JobState {
  const parts = membersOf(object);
  const [metadata, spec, status] = [membersOf(parts.metadata), membersOf(parts.spec), membersOf(parts.status)];
  const conditions = listOf(status.conditions);
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
    reason: textOf(failure?.reason),
    message: textOf(failure?.message),
    wanted: numberOf(spec.completions ?? 1),
    active: numberOf(status.active),
    succeeded: numberOf(status.succeeded),
    failed: numberOf(status.failed),
    ...(!Number.isNaN(seconds) && { seconds }),
  };
}
