import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** State of a watch cache, read at each scrape. */
export interface WatchReport {
  name: string;
  /** Seconds since the API server was last heard of on this watch; before the first list, since the start. */
  ageSeconds: number;
  restarts: number;
  objects: number;
}

/** Size of a bounded cache. */
export interface CacheReport {
  name: string;
  entries: number;
}

/**
 * Metrics of the Node.js process. Their observers never end, so all services of a process share one set.
 */
let ofProcess: Registry | undefined;

function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/** All instruments of one service. Labels are from closed sets: operation ids, status codes, names of caches. */
export class Metrics {
  readonly registry = new Registry();
  readonly #watches = new Set<() => WatchReport>();
  readonly #caches: (() => CacheReport)[] = [];

  readonly requests = new Histogram({
    name: 'atrium_http_request_duration_seconds',
    help: 'Time from the request line to the end of the answer, by operation id and status code.',
    labelNames: ['operation', 'code'] as const,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });

  readonly inFlight = new Gauge({
    name: 'atrium_http_requests_in_flight',
    help: 'Requests by kind: receiving (the body has not arrived), short, unread (the answer waits for its reader), and long such as watches.',
    labelNames: ['kind'] as const,
    registers: [this.registry],
    collect: () => this.#setInFlight(),
  });
  readonly #inFlight: (() => Readonly<Record<string, number>>)[] = [];

  readonly refused = new Counter({
    name: 'atrium_http_requests_refused_total',
    help: 'Requests answered 429 because too many were in flight.',
    registers: [this.registry],
  });

  readonly upstream = new Histogram({
    name: 'atrium_kubernetes_request_duration_seconds',
    help: 'Time until the API server answered with headers, by call and outcome (status code, timeout, aborted or unreachable).',
    labelNames: ['call', 'outcome'] as const,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });

  readonly plugins = new Histogram({
    name: 'atrium_plugin_request_duration_seconds',
    help: 'Time until the Service of a console plugin answered with headers, by call and outcome (status code, timeout, aborted or unreachable).',
    labelNames: ['call', 'outcome'] as const,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [this.registry],
  });

  constructor() {
    // Observation begins at the start, not at the first scrape.
    processRegistry();
    this.#collect('atrium_watch_age_seconds', 'Seconds since the API server was last heard of on a watch.', 'watch', () =>
      Array.from(this.#watches, (read) => read()).map(({ name, ageSeconds }) => [name, ageSeconds]),
    );
    this.#collect('atrium_watch_restarts', 'How often a watch was begun again after a failure.', 'watch', () =>
      Array.from(this.#watches, (read) => read()).map(({ name, restarts }) => [name, restarts]),
    );
    this.#collect('atrium_watch_objects', 'Objects that a watch cache holds.', 'watch', () =>
      Array.from(this.#watches, (read) => read()).map(({ name, objects }) => [name, objects]),
    );
    this.#collect('atrium_cache_entries', 'Entries of the bounded caches.', 'cache', () =>
      this.#caches.map((read) => read()).map(({ name, entries }) => [name, entries]),
    );
  }

  /** Registers a gauge that is read at each scrape. Values of one label are added up. */
  #collect(name: string, help: string, label: string, read: () => [string, number][]): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const [key, value] of read()) gauge.inc({ [label]: key }, value);
      },
    });
  }

  /** Returns the metrics of this service and of the process in the text format of Prometheus. */
  async text(): Promise<string> {
    const texts = await Promise.all([this.registry, processRegistry()].map((registry) => registry.metrics()));
    return texts.join('\n');
  }

  /** @param read returns the requests of one port by kind */
  countInFlight(read: () => Readonly<Record<string, number>>): void {
    this.#inFlight.push(read);
  }

  #setInFlight(): void {
    this.inFlight.reset();
    for (const read of this.#inFlight) for (const [kind, count] of Object.entries(read())) this.inFlight.inc({ kind }, count);
  }

  /** @returns a function that removes the report */
  watch(report: () => WatchReport): () => void {
    this.#watches.add(report);
    return () => this.#watches.delete(report);
  }

  cache(report: () => CacheReport): void {
    this.#caches.push(report);
  }
}
