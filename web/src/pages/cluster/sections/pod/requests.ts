import { isFinished, sumOfPods } from '@atrium/objects/pod-resources.ts';
import type { Pod } from './pod-shape.ts';

/** Sums the requests of pods that still run, and counts them under `pods`. */
export const requestedBy = (pods: readonly Pod[]): Readonly<Record<string, number>> => ({
  ...sumOfPods(pods, 'requests'),
  pods: pods.filter((pod) => !isFinished(pod)).length,
});

const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const rounded = (value: number): string => String(Number(value.toPrecision(3)));

/** Prints bytes as `1.5Gi` and processors as `250m`. */
export function quantityText(resource: string, value: number): string {
  const isBytes = /memory|storage|hugepages-/.test(resource);
  if (!isBytes) return resource === 'cpu' && value > 0 && value < 1 ? `${Math.ceil(value * 1000)}m` : String(Number(value.toFixed(2)));
  const power = value < 1024 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), 6);
  const text = value / 1024 ** power;
  return `${text >= 1000 ? Math.round(text) : rounded(text)}${binary[power]}`;
}
