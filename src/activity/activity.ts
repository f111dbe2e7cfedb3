/** Answers who did what, from the events in the audit store. */
import type { Caller } from '@atrium/http/caller.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import type { Context } from 'koa';
import { readRecorder } from '../audit/read-events.ts';
import type { Feature, Services } from '../services.ts';
import { activityOperations } from './routes.ts';
import type { AuditEventList, AuditParameters } from './schema.ts';
import { type ActivityNeeds, ActivityService } from './service.ts';

interface Needs extends ActivityNeeds {
  /** Checks the credential of a live list again. */
  again: WhileAllowedOptions['again'];
}

/** Lists events that the caller may see, and records the question. @throws StatusError 403, 429, 503, 504 */
export type ListAudit = (request: { ctx: Context; caller: Caller; signal: AbortSignal }, asked: AuditParameters) => Promise<AuditEventList>;

interface Activity extends Feature {
  /** Reports whether the caller may list audits and has to know of their state. Never throws, unless the caller has left. */
  isAlerted: ActivityService['isAlerted'];
  /** Undefined for an installation that keeps no events. */
  list: ListAudit | undefined;
}

export function createActivity(services: Services, { again, ...needs }: Needs): Activity {
  const { auditIntake, config } = services;
  const service = new ActivityService(services, needs);
  const recorded = readRecorder(services);
  const list: ListAudit = async (request, asked) => recorded(request, asked, await service.list(asked, request.caller, request.signal));
  return {
    operations: activityOperations(services, service, { again, recorded }),
    isAlerted: (...asked) => service.isAlerted(...asked),
    list: needs.store && list,
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
