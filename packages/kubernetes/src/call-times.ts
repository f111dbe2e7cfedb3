import type { Metrics } from '@atrium/http/telemetry/metrics.ts';

/** Times of calls to the API server, until its headers. */
export const callTimes = (metrics: Metrics) =>
  metrics.histogram({
    name: 'atrium_kubernetes_request_duration_seconds',
    help: 'Time until the API server answered with headers, by call and outcome (status code, timeout, aborted or unreachable).',
    labelNames: ['call', 'outcome'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
