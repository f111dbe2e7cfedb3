/** Schedules as kube-controller-manager reads them, by github.com/robfig/cron. Schedules with `@every` are accepted, and never run. */

interface Schedule {
  /** Minutes, hours, days of the month, months and days of the week. */
  fields: readonly ReadonlySet<number>[];
  /** Both days are restricted: one of them is enough. */
  isEither: boolean;
}

const macros: Readonly<Record<string, string>> = {
  ...{ '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0' },
  ...{ '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *' },
};
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const bounds: readonly (readonly [low: number, high: number, names: readonly string[]])[] = [
  [0, 59, []],
  [0, 23, []],
  [1, 31, []],
  [1, 12, months],
  [0, 6, weekdays],
];
const every = /^@every -?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/;

/** @returns undefined for text that cron does not take */
export function parseSchedule(text: string): Schedule | undefined {
  if (every.test(text)) return { fields: bounds.map(() => new Set<number>()), isEither: false };
  const texts = (macros[text] ?? text).trim().split(/\s+/);
  const fields = bounds.map(([low, high, names], index) => valuesOf(texts[index] ?? '', low, high, names));
  if (texts.length !== bounds.length || fields.includes(undefined)) return undefined;
  return { fields: fields.filter((field) => field !== undefined), isEither: !isAny(texts[2] ?? '') && !isAny(texts[4] ?? '') };
}

const partsOf = (field: string) => field.split(',').filter(Boolean);

/** Reports whether a field restricts nothing: an asterisk with a step above 1 does. */
const isAny = (field: string): boolean => partsOf(field).some((part) => /^[*?](?:-[^/]*)?(?:\/\+?0*1)?$/.test(part));

function valuesOf(field: string, low: number, high: number, names: readonly string[]): ReadonlySet<number> | undefined {
  if (field === '') return undefined;
  const found = new Set<number>();
  const numberOf = (text: string): number => {
    const name = names.indexOf(text.toLowerCase());
    return name >= 0 ? name + low : /^\+?\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  for (const part of partsOf(field)) {
    const [range = '', step = '1', ...others] = part.split('/');
    const [first = '', last, ...more] = /^[*?](?:-|$)/.test(range) ? [String(low), String(high)] : range.split('-');
    const from = numberOf(first);
    const to = last !== undefined ? numberOf(last) : part.includes('/') ? high : from;
    if (others.length > 0 || more.length > 0 || !/^\+?0*[1-9]\d*$/.test(step) || !(from >= low && to <= high && from <= to))
      return undefined;
    for (let value = from; value <= to; value += Number(step)) found.add(value);
  }
  return found;
}

/** Returns whether a schedule names the minute of a time, in a time zone (UTC unless given). */
export function runsAt(schedule: string, time: Date, timeZone = 'UTC'): boolean {
  const parsed = parseSchedule(schedule);
  if (parsed === undefined) return false;
  const local = new Date(time.toLocaleString('en-US', { timeZone }));
  const values = [local.getMinutes(), local.getHours(), local.getDate(), local.getMonth() + 1, local.getDay()];
  const [minute, hour, day, month, weekday] = parsed.fields.map((field, index) => field.has(values[index] ?? -1));
  return Boolean(minute && hour && month && (parsed.isEither ? day || weekday : day && weekday));
}

/** Returns the milliseconds until the next minute begins. */
export const nextMinute = (now: Date): number => 60_000 - (now.getTime() % 60_000) + 50;
