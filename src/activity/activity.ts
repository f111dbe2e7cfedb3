/** Answers who did what, from the events in the audit store. */
import type { AuditDatabase, AuditStore } from '@atrium/audit-store/store.ts';
import { retentionOf } from '../audit-chain/retention.ts';
import type { Feature, Services } from '../services.ts';
import { activityOperations } from './routes.ts';
import { ActivityService } from './service.ts';

/**
 * @param store undefined for an installation that keeps no events
 * @param owned the store, if this process owns it
 */
export function createActivity(services: Services, store: AuditStore | undefined, owned?: AuditDatabase): Feature {
  const { auditIntake, config } = services;
  const retention = owned && retentionOf({ ...services, store: owned, retention: config.auditStore.retention });
  return {
    operations: activityOperations(new ActivityService(services, store)),
    checks: auditIntake
      ? [
          { name: 'auditStore', critical: false, failure: auditIntake.failure },
          ...(config.audit.spool ? [{ name: 'auditSpool', critical: false, failure: auditIntake.spoolFailure }] : []),
        ]
      : [],
    start() {
      retention?.start();
      auditIntake?.start();
    },
    async stop() {
      await retention?.stop();
      await auditIntake?.stop();
    },
  };
}
