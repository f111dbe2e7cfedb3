/** Schedules of CronJobs in words. Schedules whose words would be longer than their five fields have none. */

import type { Schedule } from '@atrium/objects/schedule.ts';
import { language, t } from '../../../../text/text';

const maxNamed = 6;

export function scheduleWords(schedule: Schedule): string | undefined {
  const { months, everySeconds } = schedule;
  if (everySeconds !== undefined) return undefined;
  const [interval, days] = [intervalOf(schedule), daysOf(schedule)];
  const times = interval ?? timesOf(schedule);
  if (times === undefined || days === undefined) return undefined;
  const parts = [
    times,
    days === '' && interval === undefined ? t('job.eachDay') : days,
    months.length < 12 && t('job.inMonths', { months: listOf(months.map(monthName)) }),
  ];
  return parts.filter(Boolean).join(', ');
}

function intervalOf({ minutes, hours }: Schedule): string | undefined {
  const [minuteStep, hourStep] = [stepOf(minutes, 60), stepOf(hours, 24)];
  const isAtFullHour = minutes.length === 1 && minutes[0] === 0;
  if (isAtFullHour && hours.length > 1 && hourStep !== undefined) return t('job.everyHour', { count: hourStep });
  if (hours.length === 24 && minuteStep !== undefined) return t('job.everyMinute', { count: minuteStep });
  return hours.length === 24 && minutes.length <= maxNamed ? t('job.atMinutes', { minutes: listOf(minutes.map(String)) }) : undefined;
}

function timesOf({ minutes, hours }: Schedule): string | undefined {
  if (hours.length * minutes.length > maxNamed) return undefined;
  return t('job.atTimes', { times: listOf(hours.flatMap((hour) => minutes.map((minute) => `${digits(hour)}:${digits(minute)}`))) });
}

/** Returns '' for all days, and undefined for days that have no words. */
function daysOf({ days, weekdays, isEither }: Schedule): string | undefined {
  if (isEither && (days.length === 31 || weekdays.length === 7)) return '';
  const ofMonth = days.length === 31 ? undefined : t('job.onDays', { days: listOf(days.map(String)) });
  const ofWeek = weekdays.length === 7 ? undefined : t('job.onWeekdays', { days: weekdaysText(weekdays) });
  if (ofMonth !== undefined && days.length > maxNamed) return undefined;
  if (ofMonth === undefined || ofWeek === undefined) return ofMonth ?? ofWeek ?? '';
  return isEither ? t('job.either', { days: ofMonth, weekdays: ofWeek }) : undefined;
}

function weekdaysText(days: readonly number[]): string {
  const [first = 0, last = 0] = [days[0], days.at(-1)];
  const isRange = days.length > 2 && last - first === days.length - 1;
  return isRange ? t('job.range', { first: dayName(first), last: dayName(last) }) : listOf(days.map(dayName));
}

/** Returns the step of values that begin with 0 and repeat evenly. */
function stepOf(values: readonly number[], whole: number): number | undefined {
  const step = whole / values.length;
  return values.every((value, index) => value === index * step) ? step : undefined;
}

const digits = (value: number) => String(value).padStart(2, '0');
const listOf = (texts: readonly string[]) => new Intl.ListFormat(language.value, { type: 'conjunction' }).format(texts);
// 1 February 2026 is a Sunday.
const dayName = (day: number) => nameIn({ weekday: 'long' }, Date.UTC(2026, 1, 1 + day));
const monthName = (month: number) => nameIn({ month: 'long' }, Date.UTC(2026, month - 1, 1));
const nameIn = (part: Intl.DateTimeFormatOptions, time: number) =>
  new Intl.DateTimeFormat(language.value, { ...part, timeZone: 'UTC' }).format(time);
