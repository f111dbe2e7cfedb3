/** CPU and memory over time as charts, and as a table with the same figures. */
import { useSignal } from '@preact/signals';
import type { Schemas } from '../../../../api/client';
import { useLoad } from '../../../../api/load';
import { usePoll } from '../../../../api/poll';
import { AskFor } from '../../../../app/ask';
import { inWords, may, type Right, useRights } from '../../../../app/rights';
import type { ChartLine, ChartMark } from '../../../../editors/chart';
import { LineChart } from '../../../../editors/line-chart';
import { t, timeOf } from '../../../../text/text';
import { addStyles } from '../../../../ui/add-styles';
import { PlainTable } from '../../../../ui/plain-table';
import { Failure, Skeleton } from '../../../../ui/state';
import { quantity, titleOf } from '../../quantity';
import { type Amounts, type Measured, measured } from '../../usage-amounts';
import styles from './usage-history.css?inline';
import type { EventMarks, UsageMark } from './usage-marks';

addStyles(styles);

type History = Schemas['UsageHistory'];
type Range = History['range'];

/** Figures beside the usage, which are those of now. */
export type Bounds = Readonly<Partial<Record<'request' | 'limit' | 'capacity', Partial<Amounts>>>>;

interface UsageHistoryProps {
  /** Key of the history, unique for each object. */
  id: string;
  fetch: (range: Range, signal: AbortSignal) => Promise<History>;
  right: Right;
  bounds?: Bounds;
  /** Unset: the page knows no events. */
  events?: EventMarks;
  /** Starts and ends of containers. */
  restarts?: readonly UsageMark[];
}

const everyMs = 60_000;

export function UsageHistory(props: UsageHistoryProps) {
  const { id, fetch, right } = props;
  useRights([right]);
  const isAllowed = may(right);
  const range = useSignal<Range>('1h');
  const load = useLoad(isAllowed ? `usage-history/${id}/${range.value}` : undefined, (signal) => fetch(range.value, signal));
  usePoll(isAllowed ? load : undefined, everyMs);
  const [history, problem] = [load.data.value, load.error.value];
  if (isAllowed === false) return <Refused right={right} />;
  if (history === undefined) return problem ? <Failure problem={problem} onRetry={() => void load.reload()} /> : <Skeleton rows={3} />;
  return (
    <>
      <Ranges history={history} onChoose={(chosen) => (range.value = chosen)} />
      {history.unavailable && <p class="muted">{t(`usage.${history.unavailable.reason}`)}</p>}
      {history.points.length > 0 && <Drawn {...props} history={history} />}
    </>
  );
}

const Refused = ({ right }: { right: Right }) => (
  <p class="muted">
    {t('usage.refused', { right: inWords(right) })} <AskFor right={right} />
  </p>
);

const Ranges = ({ history: { range, ranges }, onChoose }: { history: History; onChoose: (range: Range) => void }) =>
  ranges.length < 2 ? null : (
    <label>
      {t('usage.range')}{' '}
      <select value={range} onChange={({ currentTarget }) => onChoose(currentTarget.value as Range)}>
        {ranges.map((one) => (
          <option key={one} value={one}>
            {t(`usage.${one}`)}
          </option>
        ))}
      </select>
    </label>
  );

function Drawn({ history, bounds: own = {}, events, restarts = [] }: UsageHistoryProps & { history: History }) {
  const { capacity, requests: request, limits: limit } = history.bounds ?? {};
  const bounds = { ...own, ...(capacity && { capacity }), ...(request && { request }), ...(limit && { limit }) };
  const marks = [...(events?.marks ?? []), ...restarts].filter(
    ({ time }) => time >= seconds(history.start) && time <= seconds(history.end),
  );
  return (
    <>
      <div class="usage-charts">
        {measured.map((resource) => (
          <Chart key={resource} {...{ resource, history, bounds, marks }} />
        ))}
      </div>
      <details>
        <summary>{t('usage.table')}</summary>
        <HistoryTable history={history} />
      </details>
      {events && may(events.right) === false && <p class="muted">{t('usage.noEvents', { right: inWords(events.right) })}</p>}
      {marks.length > 0 && <Marks marks={marks} />}
    </>
  );
}

interface ChartProps {
  resource: Measured;
  history: History;
  bounds: Bounds;
  marks: readonly UsageMark[];
}

/** Colours of the bounds, each with a line of its own kind, because colours alone do not tell them apart. */
const boundColours = { request: 'ok', limit: 'bad', capacity: 'muted' } as const;
const boundStrokes = { request: 'dashed', limit: 'dotted', capacity: 'solid' } as const;

function linesOf({ resource, history: { points }, bounds }: ChartProps): ChartLine[] {
  const straight = (Object.keys(boundColours) as (keyof typeof boundColours)[]).flatMap((name): ChartLine[] => {
    const value = bounds[name]?.[resource];
    return value
      ? [{ label: t(`usage.${name}`), colour: boundColours[name], stroke: boundStrokes[name], values: points.map(() => value) }]
      : [];
  });
  return [{ label: t('usage.used'), colour: 'accent', values: points.map((point) => point[resource]) }, ...straight];
}

function Chart(props: ChartProps) {
  const { resource, history, marks } = props;
  const { start, end, since, points } = history;
  const lines = linesOf(props);
  const last = points.findLast((point) => point.count !== null);
  const now = last ? amountText(resource, last) : t('usage.unknown');
  return (
    <LineChart
      title={titleOf(resource)}
      label={t('usage.label', { resource: titleOf(resource), now })}
      lines={lines}
      texts={lines.map(({ label, values }, index) => `${label}: ${index === 0 ? now : quantity(resource, values[0] ?? 0)}`)}
      data={{
        ...{ marks, start: seconds(start), end: seconds(end), isBinary: resource === 'memory' },
        times: points.map(({ time }) => seconds(time)),
        since: since === undefined ? undefined : seconds(since),
        sinceText: since === undefined ? '' : t('usage.since', { time: clock(since) }),
        print: (value) => quantity(resource, value),
        printTime: (time) => clock(new Date(time * 1000).toISOString()),
      }}
      versions={[history, JSON.stringify(lines.slice(1).map(({ values: [value] }) => value)), JSON.stringify(marks)]}
    />
  );
}

const seconds = (time: string): number => Date.parse(time) / 1000;

const clock = (time: string): string => timeOf(new Date(time)).replace(/(\d:\d\d):\d\d/, '$1');

type Point = History['points'][number];

/** Returns the figure, or which of the two kinds of absence it is. */
function amountText(resource: Measured, point: Point): string {
  if (point.count === null) return t('usage.unknown');
  const amount = point[resource];
  return amount === null ? t('usage.none') : quantity(resource, amount);
}

const HistoryTable = ({ history: { points } }: { history: History }) => (
  <PlainTable
    label={t('usage.overTime')}
    isScrolled
    idOf={({ time }) => time}
    rows={points.toReversed()}
    columns={[
      { title: t('usage.time'), cell: ({ time }) => clock(time) },
      ...measured.map((resource) => ({ title: titleOf(resource), cell: (point: Point) => amountText(resource, point) })),
      { title: t('usage.count'), cell: ({ count }) => count ?? t('usage.unknown') },
    ]}
  />
);

const markKinds = ['event', 'warning', 'end'] as const satisfies readonly ChartMark['kind'][];

/** Legend of the time line, and a table of its marks. */
const Marks = ({ marks }: { marks: readonly UsageMark[] }) => (
  <>
    <ul class="usage-legend marks">
      {markKinds
        .filter((kind) => marks.some((mark) => mark.kind === kind))
        .map((kind) => (
          <li key={kind} class={kind}>
            {t(`usage.mark.${kind}`)}
          </li>
        ))}
    </ul>
    <details>
      <summary>{t('usage.markTable', { count: marks.length })}</summary>
      <PlainTable
        label={t('usage.marks')}
        isScrolled
        idOf={({ time, object, text }) => `${time} ${object} ${text}`}
        rows={marks.toSorted((one, other) => other.time - one.time)}
        columns={[
          { title: t('usage.time'), cell: ({ time }) => clock(new Date(time * 1000).toISOString()) },
          { title: t('cluster.type'), cell: ({ kind }) => t(`usage.mark.${kind}`) },
          { title: t('cluster.object'), cell: ({ object }) => object },
          { title: t('usage.mark'), cell: ({ text }) => text },
        ]}
      />
    </details>
  </>
);
