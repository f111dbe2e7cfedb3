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
export function createActivity(
  services: Services,
  store: AuditStore | undefined,
  owned?: AuditDatabase,
): Pick<Feature, 'operations' | 'checks' | 'start' | 'stop'> {
  const { auditIntake } = services;
  const retention = owned && retentionOf({ ...services, store: owned, retention: services.config.auditStore.retention });
  return {
    operations: activityOperations(new ActivityService(services, store)),
    checks: auditIntake ? [{ name: 'auditStore', critical: false, failure: auditIntake.failure }] : [],
    start: () => retention?.start(),
    async stop() {
      await retention?.stop();
      await auditIntake?.stop();
    },
  };
}
