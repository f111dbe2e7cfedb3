import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { auditCounts, auditEventList, auditQuery, countsQuery } from './schema.ts';
import type { ActivityService } from './service.ts';

export const activityOperations = (service: ActivityService): Operation[] => [
  operation({
    id: 'ListAuditEvents',
    method: 'GET',
    paths: ['/auth/v1/audit'],
    tag: 'audit',
    summary: 'Lists who did what, newest first',
    description:
      'Lists the requests that changed something, connected to something or read Secrets below `/api/kubernetes`. Callers who may list `audits.auth.platform.io`, in the namespace that they name or in the cluster, get the events of all users; others get their own.',
    credential: 'required',
    before: [compressed],
    query: auditQuery,
    answers: {
      200: { description: 'The events, and whose they are.', content: { 'application/json': auditEventList } },
      400: { description: 'A parameter is no valid value.' },
      403: { description: '`actor` is another user, and the caller may not list audits.' },
      404: { description: 'This installation keeps no audit events.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await service.list(query, caller, signal);
    },
  }),
  operation({
    id: 'CountAuditEvents',
    method: 'GET',
    paths: ['/auth/v1/audit/counts'],
    tag: 'audit',
    summary: 'Counts who did what',
    description:
      'Counts events by hour, user, verb or object, for the conditions and the callers of `GET /auth/v1/audit`. At most the newest 100,000 events are counted.',
    credential: 'required',
    before: [compressed],
    query: countsQuery,
    answers: {
      200: { description: 'The counts, and whose events they are.', content: { 'application/json': auditCounts } },
      400: { description: 'A parameter is no valid value, or `by` is missing.' },
      403: { description: '`actor` is another user, and the caller may not list audits.' },
      404: { description: 'This installation keeps no audit events.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await service.count(query, caller, signal);
    },
  }),
];
