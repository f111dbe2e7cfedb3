import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { auditEventList, auditQuery } from './schema.ts';
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
];
