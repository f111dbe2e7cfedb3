import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';

export type { Counter, Histogram };

/** Name, words and labels of an instrument. Labels are from closed sets: operation ids, status codes, names of caches. */
interface Declaration<Label extends string> {
  name: string;
  help: string;
  labelNames?: readonly Label[];
}

/** Values by their labels. Values of the same labels are added up. */
export type Reading<Label extends string> = () => Iterable<readonly [labels: Partial<Record<Label, string>>, value: number]>;

/**
 * Metrics of the Node.js process. Their observers never end, so all services of a process share one set.
 */
let ofProcess: Registry | undefined;

function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision: never });
    measureLag(ofProcess);
  }
  return ofProcess;
}

/** Longest interval of a timer, in milliseconds. */
const never = 2 ** 31 - 1;

/**
 * Measures the lag of the event loop at each of its turns. prom-client measures it by a timer, which wakes an idle process a hundred times
 * a second, and misses what blocks the event loop between two ticks.
 */
function measureLag(register: Registry): void {
  const options = { resolution: 10, samplePerIteration: true };
  const lag = monitorEventLoopDelay(options);
  lag.enable();
  const statistics: readonly (readonly [string, () => number])[] = [
    ['min', () => lag.min],
    ['max', () => lag.max],
    ['mean', () => lag.mean],
    ['stddev', () => lag.stddev],
    ...[50, 90, 99].map((percent) => [`p${percent}`, () => lag.percentile(percent)] as const),
  ];
  const gauges = statistics.map(([statistic]) => {
    const name = `nodejs_eventloop_lag_${statistic}_seconds`;
    register.removeSingleMetric(name);
    return new Gauge({
      name,
      help: `Lag of the event loop since the last scrape: ${statistic}.`,
      registers: [register],
      // The first of them sets all.
      ...(statistic === 'min' && { collect: read }),
    });
  });
  function read(): void {
    for (const [index, [, value]] of statistics.entries()) gauges[index]?.set(lag.count === 0 ? 0 : value() / 1e9);
    lag.reset();
  }
}

/**
 * All instruments of one service. Each room declares its own, where it counts. A declaration of a known name returns the instrument that is
 * there, so that several parts of a room share it.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #readings = new Map<string, Set<Reading<string>>>();

  constructor() {
    // Observation begins at the start, not at the first scrape.
    processRegistry();
  }

  counter<Label extends string = never>(declaration: Declaration<Label>): Counter<Label> {
    return this.#declared(declaration, () => new Counter(this.#options(declaration)));
  }

  gauge<Label extends string = never>(declaration: Declaration<Label>): Gauge<Label> {
    return this.#declared(declaration, () => new Gauge(this.#options(declaration)));
  }

  /** @param declaration `buckets` are upper bounds, in the unit of the name */
  histogram<Label extends string = never>(declaration: Declaration<Label> & { buckets: number[] }): Histogram<Label> {
    return this.#declared(declaration, () => new Histogram({ ...this.#options(declaration), buckets: declaration.buckets }));
  }

  /**
   * Declares a metric that is read at each scrape.
   *
   * @returns a function that removes the reading
   */
  read<Label extends string = never>(
    declaration: Declaration<Label> & { type?: 'counter' | 'gauge' },
    reading: Reading<NoInfer<Label>>,
  ): () => void {
    const readings = this.#readings.get(declaration.name) ?? new Set();
    this.#readings.set(declaration.name, readings);
    readings.add(reading as Reading<string>);
    const collect = (metric: Counter | Gauge) => {
      metric.reset();
      for (const read of readings) for (const [labels, value] of read()) metric.inc(labels, value);
    };
    this.#declared<Counter | Gauge>(declaration, () => {
      const options = this.#options(declaration);
      const metric: Counter | Gauge =
        declaration.type === 'counter'
          ? new Counter({ ...options, collect: () => collect(metric) })
          : new Gauge({ ...options, collect: () => collect(metric) });
      return metric;
    });
    return () => readings.delete(reading as Reading<string>);
  }

  /** Returns the metrics of this service and of the process in the text format of Prometheus. */
  async text(): Promise<string> {
    const texts = await Promise.all([this.registry, processRegistry()].map((registry) => registry.metrics()));
    return texts.join('\n');
  }

  #declared<Instrument extends Metric>({ name }: { name: string }, make: () => Instrument): Instrument {
    return (this.registry.getSingleMetric(name) as Instrument | undefined) ?? make();
  }

  #options<Label extends string>({ name, help, labelNames = [] }: Declaration<Label>) {
    return { name, help, labelNames: [...labelNames], registers: [this.registry] };
  }
}
