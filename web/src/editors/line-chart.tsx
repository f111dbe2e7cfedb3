import './line-chart.css';
import { useEffect, useRef } from 'preact/hooks';
import type { ChartData, ChartLine } from './chart';

interface LineChartProps {
  title: string;
  /** Level below the heading that the chart belongs to. */
  heading?: 'h2' | 'h3';
  /** Name for screen readers, with the last figures. */
  label: string;
  lines: readonly ChartLine[];
  /** Text of each line in the legend. */
  texts: readonly string[];
  data: Omit<ChartData, 'lines'>;
  /** Values that change with the data: the chart is drawn again. */
  versions: readonly unknown[];
}

/** Chart that is drawn when it comes into sight. Its code is loaded by then. */
export function LineChart({ title, heading: Heading = 'h3', label, lines, texts, data, versions }: LineChartProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let view: { stop(): void } | undefined;
    let isOver = false;
    const observer = new IntersectionObserver(async ([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      const { drawChart } = await import('./chart');
      if (isOver || host.current === null) return;
      view = drawChart(host.current, { ...data, lines });
    });
    if (host.current) observer.observe(host.current);
    return () => {
      isOver = true;
      observer.disconnect();
      view?.stop();
    };
  }, versions);
  return (
    <figure class="usage-chart">
      <Heading>{title}</Heading>
      <div ref={host} class="canvas" role="img" aria-label={label} />
      <ul class="usage-legend">
        {lines.map(({ label, colour, stroke = '' }, index) => (
          <li key={label} class={`${colour} ${stroke}`}>
            {texts[index]}
          </li>
        ))}
      </ul>
    </figure>
  );
}
