/** Durations as kubectl prints them: `90s`, `5m30s`, `17m`, `2d3h`. Source: HumanDuration in k8s.io/apimachinery/pkg/util/duration. */

const sizes = { y: 31_536_000, d: 86_400, h: 3600, m: 60, s: 1 } as const;
export type DurationUnit = keyof typeof sizes;

/** Units by the seconds below which they are used: the larger one alone, or with the rest in the smaller one. */
const scales: readonly [below: number, unit: DurationUnit, rest?: DurationUnit][] = [
  [2 * sizes.m, 's'],
  [10 * sizes.m, 'm', 's'],
  [3 * sizes.h, 'm'],
  [8 * sizes.h, 'h', 'm'],
  [2 * sizes.d, 'h'],
  [8 * sizes.d, 'd', 'h'],
  [2 * sizes.y, 'd'],
  [8 * sizes.y, 'y', 'd'],
];

/** Returns a duration of zero or more seconds in one unit, or in two if the second is not zero. */
export function durationParts(seconds: number): [count: number, unit: DurationUnit][] {
  const whole = Math.max(0, Math.trunc(seconds));
  const [, unit, rest] = scales.find(([below]) => whole < below) ?? [0, 'y' as const];
  const parts: [number, DurationUnit][] = [[Math.floor(whole / sizes[unit]), unit]];
  const left = rest ? Math.floor((whole % sizes[unit]) / sizes[rest]) : 0;
  return rest && left > 0 ? [...parts, [left, rest]] : parts;
}

/** Prints a duration like kubectl. Clocks that differ by two seconds and more make it invalid. */
export function humanDuration(seconds: number): string {
  if (Math.trunc(seconds) < -1) return '<invalid>';
  return durationParts(seconds)
    .map(([count, unit]) => `${count}${unit}`)
    .join('');
}
