import { auditEvent } from '@atrium/audit-store/event.ts';
import { wordsOf } from '@atrium/audit-store/further-values.ts';
import { storeUsage } from '@atrium/audit-store/store.ts';
import { wholeNumber } from '@atrium/http/input.ts';
import { liveParameters } from '@atrium/lists/live-list-answer.ts';
import { z } from 'zod';

const maxItems = 500;

const equal = (what: string) => z.string().min(1).max(253).optional().describe(what);
const time = (what: string) =>
  z.iso.datetime({ offset: true, error: 'must be a time like 2026-01-12T10:00:00Z' }).optional().describe(what);

const conditions = {
  cluster: equal('Cluster of the object; `local` is the one of the service.'),
  actor: equal('User who did it, by the name in Kubernetes.'),
  actorGroup: equal('Group of the user who did it, at that time.'),
  requester: equal('User who asked for the access, by the name in Kubernetes.'),
  user: equal(
    'Name of a User record. Finds acts of the user since the record was made, changes of the record, and access requests, bindings and groups of the user.',
  ),
  source: auditEvent.shape.source.optional().describe('Source of the event.'),
  event: equal('Name of an action of the service, such as `AccessDecided`.'),
  verb: equal('Verb of RBAC, such as `delete`.'),
  action: equal('Action that the event tells, such as `restart` or `grant`.'),
  group: z.string().max(253).optional().describe('API group of the object; empty for the core group.'),
  resource: equal('Plural of the resource, such as `deployments`.'),
  subresource: equal('Subresource, such as `exec` or `scale`.'),
  namespace: equal('Namespace of the object.'),
  name: equal('Name of the object.'),
  session: equal('Session in which it was done.'),
  accessToken: equal('Id of the access token with which it was done.'),
  request: equal('`X-Request-Id` of the request.'),
  outcome: auditEvent.shape.outcome.optional().describe('`failure`: it was refused, or failed. `unknown`: the replica saw no answer.'),
  text: z
    .string()
    .max(253)
    .refine((text) => wordsOf(text).length > 0, 'must have a letter or a digit')
    .optional()
    .describe('Words that the event has: names of users, roles and objects, actions, reasons, words of commands.'),
  from: time('Earliest time, RFC 3339.'),
  to: time('Time before which it was done, RFC 3339.'),
};

export const auditQuery = z.object({
  ...conditions,
  limit: wholeNumber({ cap: maxItems }).default(50).describe(`Maximum number of events. A number above ${maxItems} is reduced to it.`),
  continue: z
    .string()
    .regex(/^\d{1,15}\.\d{1,15}$/, 'must be `metadata.continue` of an earlier answer')
    .optional()
    .describe('`metadata.continue` of the answer before.'),
});

export const watchParameters = {
  ...liveParameters,
  resourceVersion: z
    .string()
    .regex(/^(0|[1-9]\d{0,14})?$/, 'must be `metadata.resourceVersion` of an answer')
    .default('')
    .describe('`metadata.resourceVersion` of the list after which a watch begins. Default: now.'),
};

export type AuditParameters = z.output<typeof auditQuery>;

export const countsQuery = z.object({
  ...conditions,
  by: z.enum(['hour', 'actor', 'verb', 'object']).describe('Value that the counted events share.'),
});

export type CountsParameters = z.output<typeof countsQuery>;

/** Conditions of a question. */
export type AuditConditions = Omit<CountsParameters, 'by'>;

export const exportQuery = z.object({
  ...conditions,
  format: z.enum(['ndjson', 'csv']).default('ndjson').describe('`ndjson`: a line of JSON for each event. `csv`: a table with titles.'),
  limit: wholeNumber({ cap: Number.MAX_SAFE_INTEGER }).optional().describe('Maximum number of events. Default: all.'),
});

export type ExportParameters = z.output<typeof exportQuery>;

const scope = z
  .enum(['All', 'Own'])
  .describe(
    '`Own`: the caller may not list `audits.auth.platform.io` here, so that only what they did, and what was done to their own record, is searched.',
  );

export const auditEventList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('AuditEventList'),
    metadata: z.object({
      resourceVersion: z.string().optional().describe('Place in the order of arrival after which a watch begins.'),
      continue: z.string().optional().describe('Set if there are older events.'),
    }),
    scope,
    items: z.array(auditEvent).describe('Newest first.'),
  })
  .meta({
    id: 'AuditEventList',
    examples: [
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'AuditEventList', metadata: {}, scope: 'All' },
        items: [
          {
            ...{ auditID: '0d7a6c1e-5c5f-4a4e-9d3c-0b2f5f0f6a11', cluster: 'local', source: 'door', verb: 'patch' },
            user: { username: 'ada@example.com' },
            ...{ sourceIPs: ['192.0.2.10'], userAgent: 'kubectl/v1.36.0' },
            objectRef: { apiGroup: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'shop', name: 'storefront' },
            ...{
              requestReceivedTimestamp: '2026-01-12T10:00:00.000Z',
              milliseconds: 12,
              outcome: 'success',
              responseStatus: { code: 200 },
            },
            requestID: '6a1d4ba1-3a0f-4f0e-8f43-1de15a2ab1b8',
            changes: [{ field: 'spec.replicas', from: 2, to: 5 }],
          },
        ],
      },
    ],
  });

export type AuditEventList = z.output<typeof auditEventList>;

export const auditCounts = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('AuditCounts'),
    scope,
    by: countsQuery.shape.by,
    total: z.int().describe('Number of the counted events: at most the newest 100,000.'),
    oldest: z.iso.datetime().optional().describe('Time of the oldest counted event. Set if older events are not counted.'),
    items: z
      .array(
        z.object({
          hour: z.iso.datetime().optional().describe('Begin of the hour, by UTC.'),
          actor: z.string().optional().describe('Empty for what the service did by itself, and for logins of unknown users.'),
          kind: z
            .enum(['User', 'ServiceAccount', 'System', 'Service'])
            .optional()
            .describe(
              'Kind of the actor. `ServiceAccount`: a program in the cluster. `System`: a part of Kubernetes. `Service`: no user. `User`: any other name; `withToken` tells how much of it programs did.',
            ),
          verb: z.string().optional(),
          object: auditEvent.shape.objectRef.optional(),
          count: z.int(),
          failures: z.int().describe('Number of those with the outcome `failure`.'),
          withToken: z.int().optional().describe('Number of those that were done with an access token. Set for counts by actor.'),
        }),
      )
      .describe('The newest 2,208 hours that have events, or the 100 largest counts of another value.'),
  })
  .meta({
    id: 'AuditCounts',
    examples: [
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'AuditCounts', scope: 'All', by: 'hour', total: 3 },
        items: [{ hour: '2026-01-12T10:00:00.000Z', count: 3, failures: 1 }],
      },
    ],
  });

export type AuditCounts = z.output<typeof auditCounts>;

const checkpoints = z.object({
  state: z
    .enum(['Signed', 'Failed', 'Refused', 'Unknown'])
    .describe(
      'Result of the last attempt of this replica, which makes one in each `audit.checkpointInterval`. `Failed`: the store or the Lease is not available. `Refused`: the store contradicts a signed checkpoint. `Unknown`: no attempt has ended since its start.',
    ),
  reason: z.string().optional().describe('Reason why no checkpoint was signed.'),
  newest: z
    .object({ sequence: z.int().describe('Number of the last event that it covers.'), signedAt: z.iso.datetime() })
    .optional()
    .describe('Newest checkpoint.'),
  eventsAfter: z.int().optional().describe('Number of the events after it at that time, which have no proof yet.'),
});

export const auditStatus = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('AuditStatus'),
    delivery: z
      .enum(['required', 'besteffort'])
      .describe('`required`: writes are refused while no event can be kept. `besteffort`: they go on.'),
    store: z
      .enum(['Available', 'Unavailable', 'Unknown'])
      .describe('Answer of the store to the last events of this replica. `Unknown`: it has got none since its start.'),
    spool: z.enum(['Available', 'Unavailable']).describe('`Unavailable`: the disk of this replica takes no events.'),
    reason: z.string().optional().describe('Reason of the store or the spool, such as a full disk.'),
    waiting: z.int().describe('Events in the memory of this replica that the store does not have yet.'),
    lost: z.int().describe('Events of this replica that could not be kept. With a spool the number survives a restart.'),
    lastLost: z.iso.datetime().optional().describe('Time of the last one since the start of this replica, for a day.'),
    usage: storeUsage.optional().describe('Room of the store. Missing without a bound, and while the store does not answer.'),
    checkpoints: checkpoints.optional().describe('State of the signed checkpoints. A replica of an earlier version does not tell it.'),
  })
  .meta({
    id: 'AuditStatus',
    examples: [
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'AuditStatus', delivery: 'besteffort', store: 'Unavailable', spool: 'Available' },
        ...{ reason: 'status 503: the disk is full', waiting: 12, lost: 0 },
        checkpoints: { state: 'Signed', newest: { sequence: 1841, signedAt: '2026-01-12T10:00:00.000Z' }, eventsAfter: 3 },
      },
    ],
  });

export type AuditStatus = z.output<typeof auditStatus>;
