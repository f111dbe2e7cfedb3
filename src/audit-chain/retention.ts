import type { AuditDatabase } from '@atrium/audit-store/store.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';

const everyMs = 60_000;

interface RetentionOptions {
  store: AuditDatabase;
  retention: Config['auditStore']['retention'];
  /** Client whose clock decides about ages. */
  client: ServiceClient;
  metrics: Metrics;
  log: Logger;
}

/** Returns a sweeper that removes expired events from a store, in slices between which the store takes and answers other calls. */
export function retentionOf({ store, retention: { age, maxEvents }, client, metrics, log }: RetentionOptions): Sweeper {
  const removed = metrics.counter({
    name: 'atrium_audit_store_removed_total',
    help: 'Events that the audit store removed, by age or number.',
  });
  const expired = () => store.expired({ maxEvents, before: age === undefined ? undefined : client.serverClock.now().getTime() - age });
  return new Sweeper(
    { client, log },
    {
      what: 'audit events',
      everyMs,
      isImmediate: true,
      async sweep(signal) {
        let total = 0;
        for (let cut = await expired(); cut !== undefined && !signal.aborted; cut = await expired())
          for (let count = -1; count !== 0 && !signal.aborted; ) {
            count = await store.remove(cut.sequence);
            removed.inc(count);
            total += count;
          }
        return total;
      },
    },
  );
}
