import { isOn, parseSchedule } from '@atrium/objects/schedule.ts';

/** Returns whether a schedule names the minute of a time, in a time zone (UTC unless given). Schedules with `@every` never run here. */
export function runsAt(text: string, time: Date, timeZone = 'UTC'): boolean {
  const schedule = parseSchedule(text);
  if (schedule === undefined || schedule.everySeconds !== undefined) return false;
  const local = new Date(`${time.toLocaleString('sv-SE', { timeZone })}Z`);
  return schedule.minutes.includes(local.getUTCMinutes()) && schedule.hours.includes(local.getUTCHours()) && isOn(schedule, local);
}

/** Returns the milliseconds until the next minute begins. */
export const nextMinute = (now: Date): number => 60_000 - (now.getTime() % 60_000) + 50;
