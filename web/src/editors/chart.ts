/** Line charts over time, drawn with the colours of the console. Loaded with the first chart. */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface ChartLine {
  label: string;
  /** Custom property of its colour, without the dashes. */
  colour: 'accent' | 'ok' | 'bad' | 'muted';
  /** A value for each time; null is a gap. */
  values: readonly (number | null)[];
  /** Unset: the thick line of the chart. */
  stroke?: 'solid' | 'dashed' | 'dotted';
}

export interface ChartMark {
  /** Unix time in seconds. */
  time: number;
  /** An event has a dot on the axis; a warning, and the end of a container, also a line. */
  kind: 'event' | 'warning' | 'end';
}

export interface ChartData {
  /** Unix times in seconds. */
  times: readonly number[];
  start: number;
  end: number;
  /** Begin of the measurements, if it is later than that of the chart. */
  since: number | undefined;
  /** Text at the begin of the measurements. */
  sinceText: string;
  lines: readonly ChartLine[];
  marks: readonly ChartMark[];
  print: (value: number) => string;
  printTime: (seconds: number) => string;
  /** Factor between two marks of the scale: 1024 for bytes. */
  isBinary: boolean;
}

interface ChartView {
  stop(): void;
}

const height = 180;
const dashes = { solid: [], dashed: [6, 4], dotted: [2, 3] };
const narrowest = 200;

/** Draws a chart, which follows the width of its host and the theme. */
export function drawChart(host: HTMLElement, data: ChartData): ChartView {
  const colour = coloursOf(host);
  const width = () => Math.max(narrowest, host.clientWidth);
  const plot = new uPlot(
    optionsOf(data, colour, width()),
    [[...data.times], ...data.lines.map(({ values }) => [...values])] as uPlot.AlignedData,
    host,
  );
  const observer = new ResizeObserver(() => plot.setSize({ width: width(), height }));
  observer.observe(host);
  const onTheme = () => plot.redraw(false);
  const themes = new MutationObserver(onTheme);
  themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', onTheme);
  return {
    stop() {
      observer.disconnect();
      themes.disconnect();
      dark.removeEventListener('change', onTheme);
      plot.destroy();
    },
  };
}

type Colour = (name: string) => string;

/** Returns a reader of custom properties as colours that a canvas knows. */
function coloursOf(host: HTMLElement): Colour {
  const probe = host.appendChild(document.createElement('span'));
  probe.hidden = true;
  return (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
}

function optionsOf(data: ChartData, colour: Colour, width: number): uPlot.Options {
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis: uPlot.Axis = {
    stroke: () => colour('muted'),
    font,
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    ...{ width, height, legend: { show: false }, cursor: { show: false }, padding: [8, 28, 0, 0] },
    scales: {
      x: { time: true, range: [data.start, data.end] },
      y: { range: (_plot, _low, high) => [0, Math.max(high, Number.EPSILON) * 1.1] },
    },
    axes: [
      { ...axis, values: (_plot, times) => times.map(data.printTime), space: 90, size: 28 },
      { ...axis, size: 64, values: (_plot, values) => values.map(data.print), ...(data.isBinary && { incrs: binarySteps }) },
    ],
    series: [
      {},
      ...data.lines.map(
        (line): uPlot.Series => ({
          label: line.label,
          stroke: () => colour(line.colour),
          width: line.stroke ? 1.5 : 2,
          points: { show: false },
          ...(line.stroke && { dash: dashes[line.stroke] }),
        }),
      ),
    ],
    hooks: { drawClear: [(plot) => drawUnmeasured(plot, data, colour)], draw: [(plot) => drawMarks(plot, data, colour)] },
  };
}

/** Steps of an axis of bytes. */
const binarySteps = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** Shades the time before the first measurement: nothing is known of it. */
function drawUnmeasured({ ctx, bbox, valToPos }: uPlot, { start, since, sinceText }: ChartData, colour: Colour): void {
  if (since === undefined) return;
  const [left, right] = [valToPos(start, 'x', true), valToPos(since, 'x', true)];
  ctx.save();
  ctx.fillStyle = colour('sunk');
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.fillStyle = colour('muted');
  ctx.font = `${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
  const isRoomy = right - left > ctx.measureText(sinceText).width + 16;
  ctx.textAlign = isRoomy ? 'right' : 'left';
  ctx.fillText(sinceText, isRoomy ? right - 8 : right + 8, bbox.top + 16 * devicePixelRatio);
  ctx.restore();
}

const markColours = { event: 'muted', warning: 'warn', end: 'bad' } as const;

/** Draws events and restarts at their time, each kind with a shape of its own. */
function drawMarks({ ctx, bbox, valToPos }: uPlot, { start, end, marks }: ChartData, colour: Colour): void {
  const bottom = bbox.top + bbox.height;
  const size = 4 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { time, kind } of marks) {
    if (time < start || time > end) continue;
    const x = Math.round(valToPos(time, 'x', true));
    ctx.strokeStyle = colour(markColours[kind]);
    ctx.fillStyle = colour(markColours[kind]);
    ctx.beginPath();
    if (kind !== 'event') {
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
      ctx.beginPath();
    }
    drawShape(ctx, { kind, x, bottom, size });
    ctx.fill();
  }
  ctx.restore();
}

/** Outlines a dot, a triangle or a square on the axis. */
function drawShape(
  ctx: CanvasRenderingContext2D,
  { kind, x, bottom, size }: { kind: ChartMark['kind']; x: number; bottom: number; size: number },
): void {
  if (kind === 'event') ctx.arc(x, bottom, size * 0.75, 0, 2 * Math.PI);
  else if (kind === 'end') ctx.rect(x - size, bottom - size, 2 * size, 2 * size);
  else {
    ctx.moveTo(x, bottom - 1.5 * size);
    ctx.lineTo(x + 1.25 * size, bottom + size);
    ctx.lineTo(x - 1.25 * size, bottom + size);
    ctx.closePath();
  }
}
