/** Schedules of CronJobs: five fields of cron as robfig/cron reads them, `@daily` and its like. */

export interface Schedule {
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  weekdays: readonly number[];
  /** Both restricted: cron then takes a day that matches either of them. */
  isEither: boolean;
}

const macros: Readonly<Record<string, string>> = {
  ...{ '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0' },
  ...{ '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *' },
};
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** @returns undefined for text that cron does not take */
export function parseSchedule(text: string): Schedule | undefined {
  const fields = (macros[text.trim()] ?? text.trim()).split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  const minutes = valuesOf(minute, 0, 59);
  const hours = valuesOf(hour, 0, 23);
  const days = valuesOf(day, 1, 31);
  const months = valuesOf(month, 1, 12, monthNames);
  const weekdays = valuesOf(weekday, 0, 6, dayNames);
  if (fields.length !== 5 || !minutes || !hours || !days || !months || !weekdays) return undefined;
  const isAny = (field: string) => /^[*?]/.test(field);
  return { minutes, hours, days, months, weekdays, isEither: !isAny(day) && !isAny(weekday) };
}

function valuesOf(field: string, low: number, high: number, names: readonly string[] = []): number[] | undefined {
  const found = new Set<number>();
  const numberOf = (text: string): number => {
    const name = names.indexOf(text.toLowerCase());
    return name >= 0 ? name + low : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  for (const part of field.split(',')) {
    const [range = '', step = '1', ...others] = part.split('/');
    const [first = '', last] = /^[*?]$/.test(range) ? [String(low), String(high)] : range.split('-');
    const from = numberOf(first);
    const to = last !== undefined ? numberOf(last) : part.includes('/') ? high : from;
    if (others.length > 0 || !/^[1-9]\d*$/.test(step) || !(from >= low && to <= high && from <= to)) return undefined;
    for (let value = from; value <= to; value += Number(step)) found.add(value);
  }
  return [...found].sort((a, b) => a - b);
}

/** 29 February comes after eight years at the latest. */
const searchedDays = 366 * 8 + 2;

/** @returns the first run after a time, in a time zone; undefined if there is none */
export function nextRun(schedule: Schedule, after: Date, timeZone: string): Date | undefined {
  const clock = wallClock(timeZone);
  const today = new Date(clock(after)).setUTCHours(0, 0, 0, 0);
  for (let day = 0; day < searchedDays; day += 1) {
    const date = new Date(today + day * 86_400_000);
    if (!isOn(schedule, date)) continue;
    for (const hour of schedule.hours)
      for (const minute of schedule.minutes) {
        const wall = new Date(date).setUTCHours(hour, minute);
        const run = new Date(wall - (clock(new Date(wall)) - wall));
        const exact = new Date(run.getTime() - (clock(run) - wall));
        // A wall clock skips an hour when summer time begins; cron leaves out the runs in it.
        if (exact > after && clock(exact) === wall) return exact;
      }
  }
  return undefined;
}

function isOn({ days, months, weekdays, isEither }: Schedule, date: Date): boolean {
  const [isDay, isWeekday] = [days.includes(date.getUTCDate()), weekdays.includes(date.getUTCDay())];
  return months.includes(date.getUTCMonth() + 1) && (isEither ? isDay || isWeekday : isDay && isWeekday);
}

/** @throws RangeError for a time zone that the browser does not know */
function wallClock(timeZone: string): (time: Date) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}
