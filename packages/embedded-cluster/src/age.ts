import { humanDuration } from '@atrium/objects/duration.ts';

/** Formats the age of a time like kubectl. */
export function since(time: unknown, now: Date): string {
  const then = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(then) ? '<unknown>' : humanDuration((now.getTime() - then) / 1000);
}
