/** Warning events of the last hour, by minute and by reason. */

export interface Event {
  reason: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
  eventTime?: string;
  involvedObject: { kind: string; namespace?: string; name: string };
}

export interface Reason {
  reason: string;
  count: number;
  last: number;
  newest: Event;
}

const minuteMs = 60_000;
const minutes = 60;

const timeOf = ({ lastTimestamp, eventTime }: Event): number => Date.parse(lastTimestamp ?? eventTime ?? '');

/** Returns the number of objects that had a warning last in each minute. Events keep the time of their last occurrence alone. */
export function byMinute(events: readonly Event[], now: number): { times: number[]; values: number[] } {
  const end = Math.floor(now / minuteMs) * minuteMs;
  const times = Array.from({ length: minutes }, (_, index) => end - (minutes - 1 - index) * minuteMs);
  const values = times.map((time) => events.filter((event) => timeOf(event) >= time && timeOf(event) < time + minuteMs).length);
  return { times, values };
}

export function byReason(events: readonly Event[], now: number): Reason[] {
  const found = new Map<string, Reason>();
  for (const event of events) {
    const last = timeOf(event);
    if (!(last > now - minutes * minuteMs)) continue;
    const { reason, count = 1 } = event;
    const known = found.get(reason);
    const newest = known && known.last > last ? known : { last, newest: event };
    found.set(reason, { reason, count: (known?.count ?? 0) + count, last: newest.last, newest: newest.newest });
  }
  return [...found.values()].sort((left, right) => right.count - left.count);
}
