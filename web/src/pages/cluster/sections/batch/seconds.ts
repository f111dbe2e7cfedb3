/** Durations of settings. */

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
