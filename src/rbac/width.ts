import type { NamedRole } from './watch.ts';

/** Returns the numbers by which roles are compared: wildcards first, then the pairs of a verb and a resource. */
export const rulesWidth = ({ rules }: Pick<NamedRole, 'rules'>): readonly [number, number] => [
  rules.some(({ verbs, resources, nonResourceURLs }) => [...verbs, ...resources, ...nonResourceURLs].includes('*')) ? 1 : 0,
  rules.reduce((sum, { verbs, resources }) => sum + verbs.length * resources.length, 0),
];

/** Compares lists of numbers, the first ones first. */
export function compareWidths(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((width, index) => width !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
