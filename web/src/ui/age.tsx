/** Ages. A custom resource may hold any text in place of a time; such a text is shown unchanged. */
import { signal, useComputed } from '@preact/signals';
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

/** Shows an age in a cell: `17m`. Its title and screen readers have the long form. */
export function Age({ since }: AgeProps) {
  if (!since) return null;
  return isTime(since) ? <Brief since={since} /> : since;
}

function Brief({ since }: { since: string }) {
  const text = useComputed(() => {
    void clock.value;
    return brief(since);
  });
  return (
    <time class="age" dateTime={since} title={`${relative(since)}, ${dateTime(since)}`}>
      <span aria-hidden="true">{text}</span>
      <span class="hidden">{relative(since)}</span>
    </time>
  );
}

/** Shows an age in a sentence or beside its name: `17 minutes ago`. */
export function Ago({ since }: AgeProps) {
  if (!since) return null;
  if (!isTime(since)) return since;
  return (
    <time dateTime={since} title={dateTime(since)}>
      {relative(since)}
    </time>
  );
}
