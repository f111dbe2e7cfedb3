/** Answers who did what, from the events in the audit store. */
import type { AuditStore } from '@atrium/audit-store/store.ts';
import type { Feature, Services } from '../services.ts';
import { activityOperations } from './routes.ts';
import { ActivityService } from './service.ts';

/** @param store undefined for an installation that keeps no events */
export function createActivity(services: Services, store: AuditStore | undefined): Feature {
  const { auditIntake, config } = services;
  return {
    operations: activityOperations(services, new ActivityService(services, store)),
    checks: auditIntake
      ? [
          { name: 'auditStore', critical: false, failure: auditIntake.failure },
          ...(config.audit.spool ? [{ name: 'auditSpool', critical: false, failure: auditIntake.spoolFailure }] : []),
        ]
      : [],
    start: () => auditIntake?.start(),
    async stop() {
      await auditIntake?.stop();
    },
  };
}
