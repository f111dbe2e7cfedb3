import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { Services } from '../services.ts';

/** Notices by receiver (`mail` or `webhook/NAME`) and outcome. */
export const noticeCounter = (metrics: Metrics) =>
  metrics.counter({
    name: 'atrium_access_notices_total',
    help: 'Notices about access requests, by receiver (mail or webhook/NAME) and outcome (sent, retried, failed; digest for mail put off).',
    labelNames: ['receiver', 'outcome'],
  });

/** Lets the counters of notices begin at 0, so that `increase()` sees the first failure. */
export function expectNotices(metrics: Metrics, receivers: readonly string[]): void {
  const notices = noticeCounter(metrics);
  for (const receiver of receivers) for (const outcome of ['sent', 'retried', 'failed']) notices.inc({ receiver, outcome }, 0);
}

interface CountedRequest {
  readonly phase: string;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/**
 * Reports access requests by phase, the longest wait for a decision, and break-glass requests that nobody has reviewed.
 *
 * @param read returns all access requests; undefined while they are unknown
 */
export function reportRequests<Row extends CountedRequest>(
  { metrics, now }: Pick<Services, 'metrics' | 'now'>,
  read: () => Iterable<Row> | undefined,
  isUnreviewed: (request: Row) => boolean,
): void {
  metrics.read(
    {
      name: 'atrium_break_glass_unreviewed',
      help: 'Break-glass requests without a review, the same on each replica; NaN while they are unknown.',
    },
    () => {
      const rows = read();
      return [[{}, rows === undefined ? Number.NaN : [...rows].filter(isUnreviewed).length]];
    },
  );
  metrics.read(
    {
      name: 'atrium_access_request_wait_seconds',
      help: 'Age of the oldest access request that waits for a decision, the same on each replica; 0 if none waits, NaN if unknown.',
    },
    () => [[{}, longestWait(read(), now().getTime())]],
  );
  metrics.read({ name: 'atrium_access_requests', help: 'Access requests by phase, the same on each replica.', labelNames: ['phase'] }, () =>
    Array.from(read() ?? [], ({ phase }) => [{ phase: phase || 'New' }, 1] as const),
  );
}

/** Returns seconds. */
function longestWait(requests: Iterable<CountedRequest> | undefined, now: number): number {
  if (requests === undefined) return Number.NaN;
  let oldest = now;
  for (const { phase, created } of requests) if (phase === 'Pending' && created < oldest) oldest = created;
  return (now - oldest) / 1000;
}
