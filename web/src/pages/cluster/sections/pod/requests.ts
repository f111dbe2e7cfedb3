import { isFinished, sumOfPods } from '@atrium/objects/pod-resources.ts';
import type { Pod } from './pod-shape.ts';

/** Sums the requests of pods that still run, and counts them under `pods`. */
export const requestedBy = (pods: readonly Pod[]): Readonly<Record<string, number>> => ({
  ...sumOfPods(pods, 'requests'),
  pods: pods.filter((pod) => !isFinished(pod)).length,
});
