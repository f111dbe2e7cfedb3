import { auditEvent } from '@atrium/audit-store/event.ts';
import { bytes, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { versionToResumeAfter } from '@atrium/lists/live-list.ts';
import { answerEvents, isLive, requireEventStream } from '@atrium/lists/live-list-answer.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import { badParameter } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { auditCaller } from '../audit/audit.ts';
import { questionText, type ReadRecorder } from '../audit/read-events.ts';
import type { Services } from '../services.ts';
import { auditCounts, auditEventList, auditQuery, auditStatus, countsQuery, exportQuery, watchParameters } from './schema.ts';
import type { ActivityService } from './service.ts';

const refusals = {
  400: { description: 'A parameter is no valid value.' },
  403: { description: '`actor` or `user` is another user, and the caller may not list audits.' },
  404: { description: 'This installation keeps no audit events.' },
};

interface Parts {
  /** Checks the credential of a live list again. */
  again: WhileAllowedOptions['again'];
  /** Records who asked. */
  recorded: ReadRecorder;
}

export const activityOperations = (services: Services, service: ActivityService, { again, recorded }: Parts): Operation[] => {
  const { audit, config, longRequests } = services;
  const guard = { again, accessCacheMs: config.kubernetes.accessCache, longRequests };
  const follows = (ctx: Context) => config.features.watch && isLive(ctx);
  return [
    operation({
      id: 'ListAuditEvents',
      method: 'GET',
      paths: ['/auth/v1/audit'],
      tag: 'audit',
      summary: 'Lists who did what, newest first, or watches it',
      description:
        'Lists the requests that changed something, connected to something or read Secrets below `/api/kubernetes`. Callers who may list `audits.auth.platform.io`, in the namespace that they name or in the cluster, get the events of all users. Others get what they did, and what was done to their own record. With `watch=true` and `Accept: text/event-stream`: the events that arrive after `Last-Event-ID` or `resourceVersion`, as ADDED, in the order of their arrival.',
      credential: 'required',
      before: [compressed, longRunning(follows)],
      query: auditQuery.extend(watchParameters),
      answers: {
        200: { description: 'The events, and whose they are.', content: { 'application/json': auditEventList } },
        ...refusals,
      },
      async handle(request) {
        const { ctx, caller, query, signal } = request;
        const { watch: _watch, timeoutSeconds, resourceVersion, ...asked } = query;
        if (!follows(ctx)) {
          ctx.body = recorded(request, asked, await service.list(asked, caller, signal));
          return;
        }
        requireEventStream(ctx);
        if (query.continue !== undefined) throw badParameter('continue', 'cannot be used together with watch', 'FieldValueForbidden');
        const after = versionToResumeAfter(ctx, { resourceVersion }) ?? (resourceVersion || undefined);
        const { limit: _limit, continue: _place, ...conditions } = asked;
        const followed = recorded(request, conditions, await service.follow(conditions, after, caller, signal));
        answerEvents(ctx, { ...followed, caller, timeoutSeconds, signal }, guard);
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
        'Streams all events of a question, for the conditions and the callers of `GET /auth/v1/audit`, as lines of JSON or CSV. Events that happen meanwhile are left out. The name of the file begins with `own-` where the caller gets their own events alone. An answer that breaks off is incomplete.',
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
      id: 'GetAuditStatus',
      method: 'GET',
      paths: ['/auth/v1/audit/status'],
      tag: 'audit',
      summary: 'Tells whether the events of this replica are kept',
      credential: 'required',
      answers: {
        200: { description: 'The state of the store and of the spool.', content: { 'application/json': auditStatus } },
        403: { description: 'The caller may not list audits of the cluster.' },
        404: { description: 'This installation keeps no audit events.' },
      },
      async handle({ ctx, caller, signal }) {
        ctx.body = await service.status(caller, signal);
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
