/** Answers who did what, from the events in the audit store. */
import type { AuditStore } from '@atrium/audit-store/store.ts';
import type { Feature, Services } from '../services.ts';
import { activityOperations } from './routes.ts';
import { ActivityService } from './service.ts';

/** @param store undefined for an installation that keeps no events */
export function createActivity(services: Services, store: AuditStore | undefined): Pick<Feature, 'operations' | 'checks' | 'stop'> {
  const { auditIntake } = services;
  return {
    operations: activityOperations(new ActivityService(services, store)),
    checks: auditIntake ? [{ name: 'auditStore', critical: false, failure: auditIntake.failure }] : [],
    async stop() {
      await auditIntake?.stop();
    },
  };
}
