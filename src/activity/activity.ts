/** Answers who did what, from the events in the audit store. */
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import type { Feature, Services } from '../services.ts';
import { activityOperations } from './routes.ts';
import { type ActivityNeeds, ActivityService } from './service.ts';

interface Needs extends ActivityNeeds {
  /** Checks the credential of a live list again. */
  again: WhileAllowedOptions['again'];
}

export function createActivity(services: Services, { again, ...needs }: Needs): Feature {
  const { auditIntake, config } = services;
  return {
    operations: activityOperations(services, new ActivityService(services, needs), again),
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
