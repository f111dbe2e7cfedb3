/** Tone of the words that name a state, in the API of Kubernetes and in printer columns of custom resources. */

/** `off` is for an object that does no work, because it was told so. */
export type Tone = 'ok' | 'warn' | 'bad' | 'off';

const words: Readonly<Record<Tone, readonly string[]>> = {
  ok: [
    ...['Running', 'Active', 'Bound', 'Available', 'Ready', 'Complete', 'Completed', 'Succeeded', 'True', 'Normal'],
    ...['Established', 'SuccessCriteriaMet', 'SufficientPods'],
  ],
  warn: [
    ...['Pending', 'ContainerCreating', 'PodInitializing', 'SchedulingGated', 'Terminating', 'Draining', 'Progressing', 'Degraded'],
    ...['Released', 'Warning', 'Unknown', 'SchedulingDisabled', 'AtMaximum', 'InsufficientPods'],
  ],
  bad: ['NoEndpoints', 'Unavailable', 'FailureTarget'],
  off: ['Suspended', 'Paused', 'ScaledToZero', 'ScalingDisabled', 'ExternalName', 'NoPods'],
};

const known = new Map(Object.entries(words).flatMap(([tone, those]) => those.map((word) => [word, tone as Tone] as const)));

const isBad = (word: string): boolean =>
  /err|exitcode|signal|fail|backoff|evict|oom|unhealthy|lost|invalid|false|exceeded|cannot|pressure|NetworkUnavailable/i.test(word) ||
  /^Not[A-Z]/.test(word);

const toneOfPart = (part: string): Tone | undefined =>
  known.get(part.split(/[\s(]/, 1)[0] ?? '') ?? (isBad(part) ? 'bad' : part.startsWith('Init:') ? 'warn' : undefined);

const worstFirst: readonly Tone[] = ['bad', 'warn', 'off', 'ok'];

/** Returns the worst tone of a word such as `Ready,SchedulingDisabled`; undefined for a word that is neither good nor bad. */
export function toneOfWord(word: string): Tone | undefined {
  const tones = new Set(word.split(',').map(toneOfPart));
  return worstFirst.find((tone) => tones.has(tone));
}
