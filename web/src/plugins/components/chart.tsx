import type { Chart } from '../../../template/atrium-console';
import { LineChart } from '../../editors/line-chart';
import { count, language, t } from '../../text/text';
import { PlainTable } from '../../ui/plain-table';

/** Values of a plugin over time, as lines and as a table with the same figures. */
export function ValueChart({ title, times, lines, print = count, isBinary = false }: Chart) {
  const seconds = times.map((time) => new Date(time).getTime() / 1000);
  const clock = new Intl.DateTimeFormat(language.value, clockOf(seconds));
  const printTime = (time: number) => clock.format(time * 1000);
  const printed = (value: number | null | undefined) => (value === null || value === undefined ? '–' : print(value));
  const drawn = lines.map(({ label, values, colour = 'accent', isDashed = false }) => ({
    ...{ label, values, colour },
    ...(isDashed && { stroke: 'dashed' as const }),
  }));
  const texts = lines.map(({ label, values }) => `${label}: ${printed(values.findLast((value) => value !== null))}`);
  return (
    <>
      <LineChart
        title={title}
        heading="h2"
        label={[title, ...texts].join(', ')}
        lines={drawn}
        texts={texts}
        data={{
          ...{ times: seconds, start: seconds[0] ?? 0, end: seconds.at(-1) ?? 0, since: undefined, sinceText: '' },
          ...{ marks: [], print, printTime, isBinary },
        }}
        versions={[JSON.stringify([seconds, lines])]}
      />
      <details>
        <summary>{t('usage.table')}</summary>
        <PlainTable
          label={title}
          isScrolled
          idOf={(index) => String(index)}
          rows={seconds.map((_, index) => index).toReversed()}
          columns={[
            { title: t('usage.time'), cell: (index) => printTime(seconds[index] ?? 0) },
            ...lines.map(({ label, values }) => ({ title: label, isNumber: true, cell: (index: number) => printed(values[index]) })),
          ]}
        />
      </details>
    </>
  );
}

const daySeconds = 24 * 3600;

/** Times of one day are told apart by the clock, others need their date. */
const clockOf = (seconds: readonly number[]): Intl.DateTimeFormatOptions => ({
  ...{ hour: '2-digit', minute: '2-digit' },
  ...((seconds.at(-1) ?? 0) - (seconds[0] ?? 0) > daySeconds && { day: 'numeric', month: 'short' }),
});
