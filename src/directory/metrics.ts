import type { Metrics } from '@atrium/http/telemetry/metrics.ts';

/** Instruments of synchronisations with directories. */
export const syncMetrics = (metrics: Metrics) => ({
  runs: metrics.counter({
    name: 'atrium_directory_sync_runs_total',
    help: 'Synchronisations with a directory on this replica, by connector and outcome (success or failure), without dry runs.',
    labelNames: ['connector', 'outcome'],
  }),
  users: metrics.counter({
    name: 'atrium_directory_sync_users_total',
    help: 'Users that synchronisations on this replica have processed, by connector and change.',
    labelNames: ['connector', 'change'],
  }),
  success: metrics.gauge({
    name: 'atrium_directory_sync_last_success_timestamp_seconds',
    help: 'End of the last successful synchronisation with a directory, on any replica.',
    labelNames: ['connector'],
  }),
});
