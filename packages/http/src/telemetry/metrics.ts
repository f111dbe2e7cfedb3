import { X509Certificate } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** State of a watch cache, read at each scrape. */
export interface WatchReport {
  name: string;
  /** Seconds since the API server was last heard of on this watch; before the first list, since the start. */
  ageSeconds: number;
  restarts: number;
  objects: number;
}

/** Bounded work of one class, whose flows take turns. */
interface Places {
  readonly running: number;
  readonly waiting: number;
}

/** Queue of a controller, read at each scrape. */
interface QueueReport {
  /** Returns the number of keys that wait. */
  depth(): number;
  /** Returns the number of reconciled keys of the present backlog. */
  done(): number;
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

/** All instruments of one service. Labels are from closed sets: operation ids, status codes, names of caches. */
export class Metrics {
  readonly registry = new Registry();
  readonly #watches = new Set<() => WatchReport>();
  readonly #caches: (() => CacheReport)[] = [];
  readonly #queues = new Map<string, QueueReport>();
  readonly #certificates = new Map<string, () => string | Buffer | undefined>();

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
  readonly places = new Gauge({
    name: 'atrium_places',
    help: 'Work by class and state: running, or waiting for its turn. Classes are people, strangers and static for requests, and kubernetes, issuer, directory, passwords, plugins and mail for calls to them.',
    labelNames: ['class', 'state'] as const,
    registers: [this.registry],
    collect: () => this.#setPlaces(),
  });
  readonly #places: [string, Readonly<Places>][] = [];

  readonly #inFlight: (() => Readonly<Record<string, number>>)[] = [];

  readonly refused = new Counter({
    name: 'atrium_http_requests_refused_total',
    help: 'Requests answered 429 because their flow has no place left, by class (people, strangers, static), or because there are too many of their kind (receiving, long).',
    labelNames: ['class'] as const,
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

  readonly logins = new Counter({
    name: 'atrium_logins_total',
    help: 'Logins by issuer (its id in the configuration, or unknown) and outcome (success or failure).',
    labelNames: ['issuer', 'outcome'] as const,
    registers: [this.registry],
  });

  readonly renewals = new Counter({
    name: 'atrium_token_renewals_total',
    help: 'Renewals of the tokens of a login, by outcome (success or failure).',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });

  readonly lockouts = new Counter({
    name: 'atrium_user_lockouts_total',
    help: 'Users locked after too many failed attempts.',
    registers: [this.registry],
  });

  readonly refusedTokens = new Counter({
    name: 'atrium_tokens_refused_total',
    help: 'Tokens of issuers that were refused, by kind (bearer_token, id_token, logout_token) and reason.',
    labelNames: ['kind', 'reason'] as const,
    registers: [this.registry],
  });

  readonly issuerCalls = new Histogram({
    name: 'atrium_issuer_request_duration_seconds',
    help: 'Time until an issuer answered with headers, by its id in the configuration and outcome (status code, timeout, aborted or unreachable).',
    labelNames: ['issuer', 'outcome'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });

  readonly directoryRuns = new Counter({
    name: 'atrium_directory_sync_runs_total',
    help: 'Synchronisations with a directory on this replica, by connector and outcome (success or failure). Dry runs do not count.',
    labelNames: ['connector', 'outcome'] as const,
    registers: [this.registry],
  });

  readonly directoryUsers = new Counter({
    name: 'atrium_directory_sync_users_total',
    help: 'Users that synchronisations on this replica have processed, by connector and change.',
    labelNames: ['connector', 'change'] as const,
    registers: [this.registry],
  });

  readonly directorySuccess = new Gauge({
    name: 'atrium_directory_sync_last_success_timestamp_seconds',
    help: 'End of the last successful synchronisation with a directory, on any replica.',
    labelNames: ['connector'] as const,
    registers: [this.registry],
  });

  readonly reconciliations = new Histogram({
    name: 'atrium_controller_reconcile_duration_seconds',
    help: 'Time to reconcile one object, by controller.',
    labelNames: ['controller'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60],
    registers: [this.registry],
  });

  readonly reconcileFailures = new Counter({
    name: 'atrium_controller_reconcile_failures_total',
    help: 'Reconciliations that failed and are retried, by controller.',
    labelNames: ['controller'] as const,
    registers: [this.registry],
  });

  readonly accessNotices = new Counter({
    name: 'atrium_access_notices_total',
    help: 'Notices about access requests, by receiver (mail or webhook/NAME) and outcome (sent, retried, failed; digest for mail put off).',
    labelNames: ['receiver', 'outcome'] as const,
    registers: [this.registry],
  });

  readonly userEvents = new Counter({
    name: 'atrium_user_events_total',
    help: 'Kubernetes Events on users, by outcome (written; limited by the rate of a user; dropped by the full queue; failed).',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });

  readonly spans = new Counter({
    name: 'atrium_trace_spans_total',
    help: 'Spans of traces, by outcome (exported or dropped).',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });

  readonly buildInfo = new Gauge({
    name: 'atrium_build_info',
    help: 'Always 1; the labels are the version of the service, the revision of its sources and the version of Node.js.',
    labelNames: ['version', 'revision', 'node'] as const,
    registers: [this.registry],
  });

  constructor() {
    // Observation begins at the start, not at the first scrape.
    processRegistry();
    const ofWatches = (member: 'ageSeconds' | 'restarts' | 'objects') => (): [string, number][] =>
      Array.from(this.#watches, (read) => read()).map((report) => [report.name, report[member]]);
    this.#collect(
      'atrium_watch_age_seconds',
      'Seconds since the API server was last heard of on a watch.',
      'watch',
      ofWatches('ageSeconds'),
    );
    this.#collect('atrium_watch_restarts_total', 'Restarts of a watch after a failure.', 'watch', ofWatches('restarts'), Counter);
    this.#collect('atrium_watch_objects', 'Objects that a watch cache holds.', 'watch', ofWatches('objects'));
    this.#collect('atrium_cache_entries', 'Entries of the bounded caches.', 'cache', () =>
      this.#caches.map((read) => read()).map(({ name, entries }) => [name, entries]),
    );
    this.#collect('atrium_controller_queue_depth', 'Objects that wait to be reconciled, by controller.', 'controller', () =>
      Array.from(this.#queues, ([name, { depth }]) => [name, depth()]),
    );
    this.#collect(
      'atrium_controller_backlog_done',
      'Objects of the present backlog that are reconciled, by controller; 0 without a backlog. The depth of its queue is the number that remains.',
      'controller',
      () => Array.from(this.#queues, ([name, { done }]) => [name, done()]),
    );
    this.#collect(
      'atrium_certificate_expiry_timestamp_seconds',
      'End of the validity of a certificate in use, by its purpose.',
      'certificate',
      () => [...this.#certificates].flatMap(([name, read]) => expiryOf(read()).map((seconds): [string, number] => [name, seconds])),
    );
  }

  /** Registers a metric that is read at each scrape. Values of one label are added up. */
  #collect(name: string, help: string, label: string, read: () => [string, number][], Kind: typeof Counter | typeof Gauge = Gauge): void {
    const metric: Counter | Gauge = new Kind({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect: () => {
        metric.reset();
        for (const [key, value] of read()) metric.inc({ [label]: key }, value);
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

  #setPlaces(): void {
    this.places.reset();
    for (const [name, { running, waiting }] of this.#places) {
      this.places.inc({ class: name, state: 'running' }, running);
      this.places.inc({ class: name, state: 'waiting' }, waiting);
    }
  }

  #setInFlight(): void {
    this.inFlight.reset();
    for (const read of this.#inFlight) for (const [kind, count] of Object.entries(read())) this.inFlight.inc({ kind }, count);
  }

  /** @param places are read at each scrape, and added to others of that class */
  countPlaces(name: string, places: Readonly<Places>): void {
    this.#places.push([name, places]);
  }

  /** @returns a function that removes the report */
  watch(report: () => WatchReport): () => void {
    this.#watches.add(report);
    return () => this.#watches.delete(report);
  }

  cache(report: () => CacheReport): void {
    this.#caches.push(report);
  }

  /**
   * Reports the queue of a controller.
   *
   * @returns a function that removes the report
   */
  queue(controller: string, report: QueueReport): () => void {
    this.reconcileFailures.inc({ controller }, 0);
    this.#queues.set(controller, report);
    return () => this.#queues.delete(controller);
  }

  /** @param read returns the number of break-glass requests that nobody has reviewed; NaN if it is unknown */
  breakGlass(read: () => number): void {
    const metric: Gauge = new Gauge({
      name: 'atrium_break_glass_unreviewed',
      help: 'Break-glass requests without a review, the same on each replica; NaN while they are unknown.',
      registers: [this.registry],
      collect: () => metric.set(read()),
    });
  }

  /**
   * @param read returns the phase of each access request, and since when it has existed in milliseconds since 1970; undefined if unknown
   */
  accessRequests(read: () => Iterable<{ phase: string; created: number }> | undefined, now: () => Date): void {
    const wait: Gauge = new Gauge({
      name: 'atrium_access_request_wait_seconds',
      help: 'Age of the oldest access request that waits for a decision, the same on each replica; 0 if none waits, NaN if unknown.',
      registers: [this.registry],
      collect: () => {
        const rows = read();
        const at = now().getTime();
        let oldest = at;
        for (const { phase, created } of rows ?? []) if (phase === 'Pending' && created < oldest) oldest = created;
        wait.set(rows === undefined ? Number.NaN : (at - oldest) / 1000);
      },
    });
    this.#collect('atrium_access_requests', 'Access requests by phase, the same on each replica.', 'phase', () =>
      Array.from(read() ?? [], ({ phase }): [string, number] => [phase || 'New', 1]),
    );
  }

  /** @param read returns the certificate in PEM that is in use, undefined if there is none */
  certificate(purpose: string, read: () => string | Buffer | undefined): void {
    this.#certificates.set(purpose, read);
  }

  /** Lets the counters of notices begin at 0, so that `increase()` sees the first failure. */
  expectNotices(receivers: readonly string[]): void {
    for (const receiver of receivers) for (const outcome of ['sent', 'retried', 'failed']) this.accessNotices.inc({ receiver, outcome }, 0);
  }

  /** Lets the counters of logins begin at 0, so that `increase()` sees the first one. */
  expectLogins(issuers: readonly string[]): void {
    for (const outcome of ['success', 'failure']) {
      for (const issuer of issuers) this.logins.inc({ issuer, outcome }, 0);
      this.renewals.inc({ outcome }, 0);
    }
  }
}

function expiryOf(pem: string | Buffer | undefined): number[] {
  try {
    return pem === undefined ? [] : [new X509Certificate(pem).validToDate.getTime() / 1000];
  } catch {
    return [];
  }
}
