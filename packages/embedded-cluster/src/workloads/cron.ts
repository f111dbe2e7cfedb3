/** Schedules of five fields, as in crontab(5): numbers, ranges, lists, steps and asterisks. Names are not known. */

const bounds = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
] as const;

function fits(field: string, value: number, [low, high]: readonly [number, number]): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [from, to = range === '*' ? high : step === '1' ? from : high] = range === '*' ? [low] : range.split('-').map(Number);
    return from !== undefined && to !== undefined && value >= from && value <= to && (value - from) % Number(step) === 0;
  });
}

/** Returns whether a schedule names the minute of a time, in a time zone (UTC unless given). */
export function runsAt(schedule: string, time: Date, timeZone = 'UTC'): boolean {
  const fields = schedule.trim().split(/\s/).filter(Boolean);
  if (fields.length !== bounds.length) return false;
  const local = new Date(time.toLocaleString('en-US', { timeZone }));
  const weekday = local.getDay();
  const values = [local.getMinutes(), local.getHours(), local.getDate(), local.getMonth() + 1, weekday];
  return bounds.every((bound, index) => {
    const field = fields[index] ?? '';
    const value = values[index] ?? 0;
    return fits(field, value, bound) || (index === 4 && weekday === 0 && fits(field, 7, bound));
  });
}

/** Returns the milliseconds until the next minute begins. */
export const nextMinute = (now: Date): number => 60_000 - (now.getTime() % 60_000) + 50;
