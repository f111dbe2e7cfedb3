import type { Metrics } from '@atrium/http/telemetry/metrics.ts';

/** Queue of a controller, read at each scrape. */
interface QueueReport {
  /** Returns the number of keys that wait. */
  depth(): number;
  /** Returns the number of reconciled keys of the present backlog. */
  done(): number;
}

/** Instruments of one controller. */
export function controllerMetrics(metrics: Metrics, controller: string) {
  const labelNames = ['controller'] as const;
  const failures = metrics.counter({
    name: 'atrium_controller_reconcile_failures_total',
    help: 'Reconciliations that failed and are retried, by controller.',
    labelNames,
  });
  const times = metrics.histogram({
    name: 'atrium_controller_reconcile_duration_seconds',
    help: 'Time to reconcile one object, by controller.',
    labelNames,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60],
  });
  failures.inc({ controller }, 0);
  return {
    /** Begins to measure a reconciliation. Returns the function that ends it. */
    begin: () => times.startTimer({ controller }),
    countFailure: () => failures.inc({ controller }),
    /** Returns a function that removes the report. */
    reportQueue({ depth, done }: QueueReport): () => void {
      const ends = [
        metrics.read(
          { name: 'atrium_controller_queue_depth', help: 'Objects that wait to be reconciled, by controller.', labelNames },
          () => [[{ controller }, depth()]],
        ),
        metrics.read(
          {
            name: 'atrium_controller_backlog_done',
            help: 'Objects of the present backlog that are reconciled, by controller; 0 without a backlog. The depth of its queue is the number that remains.',
            labelNames,
          },
          () => [[{ controller }, done()]],
        ),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
