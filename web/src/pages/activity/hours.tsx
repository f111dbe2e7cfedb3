/** Bars of the events per hour, or per day for a long time. A bar leads to the events of its time. */
import './styles';
import { useRef } from 'preact/hooks';
import type { Schemas } from '../../api/client';
import { setQuery } from '../../app/router';
import { count, dateOnly, dateTime, t } from '../../text/text';

type Hour = Schemas['AuditCounts']['items'][number];

interface Bar {
  from: number;
  to: number;
  count: number;
  failures: number;
}

const hourMs = 3_600_000;
/** Beyond a week, a bar is a day. */
const maxHours = 169;
/** Beyond a year, days are no longer told apart. */
const maxBars = 366;

const startOfHour = (time: number): number => time - (time % hourMs);

function startOfDay(time: number): number {
  const day = new Date(time);
  return day.setHours(0, 0, 0, 0);
}

/** Returns the begin of the next hour, or of the next day of the browser's clock, which may have 23 hours. */
const after = (time: number, isHourly: boolean): number => (isHourly ? time + hourMs : startOfDay(time + 36 * hourMs));

/** Returns a bar for each hour or day between two times, also for those without events. */
function barsOf(hours: readonly Hour[], from: number, to: number): Bar[] {
  const isHourly = to - from <= maxHours * hourMs;
  const bars: Bar[] = [];
  const begin = isHourly ? startOfHour(from) : startOfDay(from);
  for (let time = begin; time < to && bars.length < maxBars; time = after(time, isHourly))
    bars.push({ from: time, to: after(time, isHourly), count: 0, failures: 0 });
  for (const hour of hours) {
    const time = Date.parse(hour.hour ?? '');
    // An hour of a half-hour time zone belongs to the day in which it begins.
    const bar = bars.findLast((one) => one.from <= time && time < one.to);
    if (bar === undefined) continue;
    bar.count += hour.count;
    bar.failures += hour.failures;
  }
  return bars;
}

interface HoursProps {
  hours: readonly Hour[];
  from: number;
  to: number;
}

export function Hours({ hours, from, to }: HoursProps) {
  const group = useRef<HTMLFieldSetElement>(null);
  const bars = barsOf(hours, from, to);
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  function move(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
    const step = steps[event.key];
    const buttons = [...(group.current?.querySelectorAll('button') ?? [])];
    const at = buttons.findIndex((button) => button.matches(':focus'));
    const next = step && buttons[at + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
  return (
    <fieldset ref={group} class="hours" onKeyDown={move}>
      <legend class="hidden">{t('activity.perHour')}</legend>
      <div class="bars">
        {bars.map((bar, index) => (
          <BarButton key={bar.from} bar={bar} most={most} isReached={index === bars.length - 1} />
        ))}
      </div>
      <div class="ends muted small" aria-hidden="true">
        <span>{dateTime(bars[0]?.from ?? from)}</span>
        <span>{t('activity.most', { count: Math.max(0, ...bars.map((bar) => bar.count)) })}</span>
        <span>{dateTime(to)}</span>
      </div>
    </fieldset>
  );
}

/** @param isReached by Tab; the others are reached from it by arrow keys */
function BarButton({ bar, most, isReached }: { bar: Bar; most: number; isReached: boolean }) {
  const label = labelOf(bar);
  const part = (number: number) => `${(100 * number) / most}%`;
  return (
    <button
      type="button"
      tabIndex={isReached ? 0 : -1}
      aria-label={label}
      title={label}
      onClick={() => setQuery({ since: '', from: new Date(bar.from).toISOString(), to: new Date(bar.to).toISOString() })}
    >
      <span class="good" style={{ blockSize: part(bar.count - bar.failures) }} />
      <span class="bad" style={{ blockSize: part(bar.failures) }} />
    </button>
  );
}

function labelOf({ from, to, count: events, failures }: Bar): string {
  const time = to - from > hourMs ? dateOnly(from) : dateTime(from);
  const words = t('activity.events', { count: events, number: count(events) });
  return `${time}: ${words}${failures > 0 ? `, ${t('activity.ofThem', { count: failures, number: count(failures) })}` : ''}`;
}
