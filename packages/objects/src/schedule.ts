/** Schedules of CronJobs as kube-controller-manager reads them, by github.com/robfig/cron: five fields, `@daily` and its like. */

import { secondsIn } from './go-duration.ts';

export interface Schedule {
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  weekdays: readonly number[];
  /** Both days are restricted: cron then takes a day that matches either of them. */
  isEither: boolean;
  /** Set for `@every`, which counts from the last run instead. */
  everySeconds?: number;
}

const macros: Readonly<Record<string, string>> = {
  ...{ '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0' },
  ...{ '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *' },
};
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** @returns undefined for text that cron does not take */
export function parseSchedule(text: string): Schedule | undefined {
  const everySeconds = intervalIn(text);
  const fields = (everySeconds === undefined ? (macros[text] ?? text) : '* * * * *').trim().split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  const minutes = valuesOf(minute, 0, 59);
  const hours = valuesOf(hour, 0, 23);
  const days = valuesOf(day, 1, 31);
  const months = valuesOf(month, 1, 12, monthNames);
  const weekdays = valuesOf(weekday, 0, 6, dayNames);
  if (fields.length !== 5 || !minutes || !hours || !days || !months || !weekdays) return undefined;
  const isEither = !isAny(day) && !isAny(weekday);
  return { minutes, hours, days, months, weekdays, isEither, ...(everySeconds !== undefined && { everySeconds }) };
}

/** Returns the seconds of `@every`, at least one: cron leaves out fractions. */
function intervalIn(text: string): number | undefined {
  const [, duration = ''] = /^@every (-?[^ywd]+)$/.exec(text) ?? [];
  const seconds = secondsIn(duration);
  return seconds === undefined ? undefined : Math.max(1, Math.floor(seconds));
}

const partsOf = (field: string) => field.split(',').filter(Boolean);

/** Reports whether a field restricts nothing: an asterisk with a step above 1 does. */
const isAny = (field: string): boolean => partsOf(field).some((part) => /^[*?](?:-[^/]*)?(?:\/\+?0*1)?$/.test(part));

function valuesOf(field: string, low: number, high: number, names: readonly string[] = []): number[] | undefined {
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
  return [...found].sort((a, b) => a - b);
}

const dayMs = 86_400_000;
/** Years that cron searches. */
const searchedYears = 5;

/**
 * Returns the first run after a time, in a time zone; undefined if there is none.
 *
 * @param since the time from which `@every` counts: the last run, or else the creation
 */
export function nextRun(schedule: Schedule, after: Date, timeZone: string, since = after): Date | undefined {
  if (schedule.everySeconds !== undefined) return nextOfInterval(schedule.everySeconds * 1000, after, since);
  const clock = wallClock(timeZone);
  const today = new Date(clock(after)).setUTCHours(0, 0, 0, 0);
  const lastYear = new Date(today).getUTCFullYear() + searchedYears;
  for (let date = new Date(today); date.getUTCFullYear() <= lastYear; date = new Date(date.getTime() + dayMs)) {
    const run = isOn(schedule, date) ? runsOn(schedule, date, clock).find((time) => time > after.getTime()) : undefined;
    if (run !== undefined) return new Date(run);
  }
  return undefined;
}

function nextOfInterval(interval: number, after: Date, since: Date): Date {
  const start = Math.floor(since.getTime() / 1000) * 1000;
  const passed = Math.max(0, Math.floor((after.getTime() - start) / interval));
  return new Date(start + (passed + 1) * interval);
}

/** Returns the runs on a day in their order. When summer time begins, a wall clock skips an hour; when it ends, it shows one twice. */
function runsOn({ hours, minutes }: Schedule, date: Date, clock: (time: number) => number): number[] {
  // The farthest time zones are 14 hours before and 12 hours behind UTC.
  const around = [-14, 36].map((hour) => date.getTime() + hour * 3_600_000);
  const offsets = new Set(around.map((time) => clock(time) - time));
  return hours
    .flatMap((hour) => minutes.map((minute) => new Date(date).setUTCHours(hour, minute)))
    .flatMap((wall) => [...offsets].map((offset) => wall - offset).filter((time) => offsets.size === 1 || clock(time) === wall))
    .sort((a, b) => a - b);
}

/** Reports whether a schedule runs on a day. @param date holds the day in UTC */
export function isOn({ days, months, weekdays, isEither }: Schedule, date: Date): boolean {
  const [isDay, isWeekday] = [days.includes(date.getUTCDate()), weekdays.includes(date.getUTCDay())];
  return months.includes(date.getUTCMonth() + 1) && (isEither ? isDay || isWeekday : isDay && isWeekday);
}

/** @throws RangeError for a time zone that the browser does not know */
function wallClock(timeZone: string): (time: Date | number) => number {
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
