import { auditEvent } from '@atrium/audit-store/event.ts';
import { bytes, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { z } from 'zod';
import { auditCaller } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import { questionText, readRecorder } from './read-events.ts';
import { auditCounts, auditEventList, auditQuery, countsQuery, exportQuery } from './schema.ts';
import type { ActivityService } from './service.ts';

const refusals = {
  400: { description: 'A parameter is no valid value.' },
  403: { description: '`actor` is another user, and the caller may not list audits.' },
  404: { description: 'This installation keeps no audit events.' },
};

export const activityOperations = (services: Services, service: ActivityService): Operation[] => {
  const { audit } = services;
  const recorded = readRecorder(services);
  return [
    operation({
      id: 'ListAuditEvents',
      method: 'GET',
      paths: ['/auth/v1/audit'],
      tag: 'audit',
      summary: 'Lists who did what, newest first',
      description:
        'Lists the requests that changed something, connected to something or read Secrets below `/api/kubernetes`. Callers who may list `audits.auth.platform.io`, in the namespace that they name or in the cluster, get the events of all users. Others get what they did, and what was done to their own record.',
      credential: 'required',
      before: [compressed],
      query: auditQuery,
      answers: {
        200: { description: 'The events, and whose they are.', content: { 'application/json': auditEventList } },
        ...refusals,
      },
      async handle(request) {
        const { ctx, caller, query, signal } = request;
        ctx.body = recorded(request, query, await service.list(query, caller, signal));
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
        ...refusals,
        400: { description: 'A parameter is no valid value, or `by` is missing.' },
      },
      async handle(request) {
        const { ctx, caller, query, signal } = request;
        ctx.body = recorded(request, query, await service.count(query, caller, signal));
      },
    }),
    operation({
      id: 'ExportAuditEvents',
      method: 'GET',
      paths: ['/auth/v1/audit/export'],
      tag: 'audit',
      summary: 'Returns who did what as a file, newest first',
      description:
        'Streams all events of a question, for the conditions and the callers of `GET /auth/v1/audit`, as lines of JSON or CSV. Events that arrive meanwhile are left out. The name of the file begins with `own-` where the caller gets their own events alone. An answer that breaks off is incomplete.',
      credential: 'required',
      before: [longRunning(() => true)],
      answersHead: false,
      query: exportQuery,
      answers: {
        200: { description: 'The events.', content: { 'application/x-ndjson': auditEvent, 'text/csv': bytes } },
        ...refusals,
      },
      async handle({ ctx, caller, query, signal }) {
        const { lines, scope, mediaType } = await service.export(query, caller, signal);
        audit.record({ ...auditCaller(ctx, caller), audit: 'AuditExported', outcome: 'success', code: 200, question: questionText(query) });
        ctx.attachment(`${scope === 'Own' ? 'own-' : ''}audit.${query.format}`);
        ctx.set('Content-Type', mediaType);
        ctx.body = lines;
      },
    }),
    operation({
      id: 'GetAuditEvent',
      method: 'GET',
      paths: ['/auth/v1/audit/:id'],
      tag: 'audit',
      summary: 'Returns an event by its `auditID`',
      credential: 'required',
      params: z.object({ id: z.string().min(1).max(253).describe('`auditID` of the event.') }),
      answers: {
        200: { description: 'The event.', content: { 'application/json': auditEvent } },
        404: { description: 'No such event exists, or the caller may not see it.' },
      },
      async handle(request) {
        const { ctx, caller, params, signal } = request;
        ctx.body = recorded(request, { auditID: params.id }, await service.get(params.id, caller, signal)).event;
      },
    }),
  ];
};
