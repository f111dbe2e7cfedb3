import type { Metrics } from '@atrium/http/telemetry/metrics.ts';

/** State of a watch cache. */
interface WatchReport {
  readonly size: number;
  readonly restarts: number;
  /** Returns the seconds since the API server was last heard of on this watch; before the first list, since the start. */
  ageSeconds(): number;
}

/**
 * Reports a watch cache.
 *
 * @returns a function that removes the report
 */
export function reportWatch(metrics: Metrics, watch: string, report: WatchReport): () => void {
  const labelNames = ['watch'] as const;
  const ends = [
    metrics.read(
      { name: 'atrium_watch_age_seconds', help: 'Seconds since the API server was last heard of on a watch.', labelNames },
      () => [[{ watch }, report.ageSeconds()]],
    ),
    metrics.read({ name: 'atrium_watch_restarts_total', help: 'Restarts of a watch after a failure.', labelNames, type: 'counter' }, () => [
      [{ watch }, report.restarts],
    ]),
    metrics.read({ name: 'atrium_watch_objects', help: 'Objects that a watch cache holds.', labelNames }, () => [[{ watch }, report.size]]),
  ];
  return () => {
    for (const end of ends) end();
  };
}
