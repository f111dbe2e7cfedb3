/** Ages. A custom resource may hold any text in place of a time; such a text is shown unchanged. */
import { computed, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { brief, dateTime, relative } from '../text/text';

interface AgeProps {
  since: string | undefined;
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));

let timer: ReturnType<typeof setInterval> | undefined;
/** Counts seconds while an age is shown. */
const clock = signal(0, {
  watched() {
    timer = setInterval(() => {
      clock.value += 1;
    }, 1000);
  },
  unwatched: () => clearInterval(timer),
});

/** Returns a text that counts on. The component is not rendered again, and its text only changes when another one is due. */
const useCounting = (since: string, format: (time: string) => string) =>
  useMemo(
    () =>
      computed(() => {
        void clock.value;
        return format(since);
      }),
    [since],
  );

/** Shows an age in a cell: `17m`. Its title and screen readers have the long form. */
export function Age({ since }: AgeProps) {
  if (!since) return null;
  return isTime(since) ? <Brief since={since} /> : since;
}

function Brief({ since }: { since: string }) {
  const [text, long] = [useCounting(since, brief), useCounting(since, relative)];
  return (
    <time class="age" dateTime={since} title={useCounting(since, (time) => `${relative(time)}, ${dateTime(time)}`)}>
      <span aria-hidden="true">{text}</span>
      <span class="hidden">{long}</span>
    </time>
  );
}

/** Shows an age in a sentence or beside its name: `17 minutes ago`. */
export function Ago({ since }: AgeProps) {
  if (!since) return null;
  return isTime(since) ? <Long since={since} /> : since;
}

const Long = ({ since }: { since: string }) => (
  <time dateTime={since} title={dateTime(since)}>
    {useCounting(since, relative)}
  </time>
);
