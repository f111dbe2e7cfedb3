import { auditEvent } from '@atrium/audit-store/event.ts';
import { wholeNumber } from '@atrium/http/input.ts';
import { z } from 'zod';
import { explainedParts } from '../access/schema.ts';

const maxItems = 50;
const maxDays = 365;

export const standingQuery = z.object({
  namespace: z
    .string()
    .min(1, 'must not be empty')
    .max(63)
    .optional()
    .describe('Selects the RoleBindings of this namespace. Default: all bindings, those of the cluster among them.'),
  name: z
    .string()
    .min(1, 'must not be empty')
    .max(512, 'may not be longer than 512 characters')
    .optional()
    .describe('Selects bindings of this name, and those of the UserBinding of this name.'),
  role: z
    .string()
    .min(1, 'must not be empty')
    .max(512, 'may not be longer than 512 characters')
    .optional()
    .describe('Selects bindings of the Role or ClusterRole of this name.'),
  days: wholeNumber({ cap: maxDays })
    .default(90)
    .describe(`Days, ending now, in which uses are looked for. A number above ${maxDays} is reduced to it.`),
  holders: z
    .enum(['People', 'All'])
    .default('People')
    .describe('`All` adds bindings that name ServiceAccounts alone, and those that Kubernetes itself makes.'),
  limit: wholeNumber({ cap: maxItems }).default(20).describe(`Maximum number of bindings. A number above ${maxItems} is reduced to it.`),
  page: wholeNumber().default(1).describe('Number of the page of `limit` items, from 1. Empty past the last page.'),
});

export type StandingQuery = z.output<typeof standingQuery>;

const used = z.object({
  state: z.literal('Used'),
  users: z.int().describe('Number of the people who were seen to use it.'),
  atLeast: z
    .literal(true)
    .exactOptional()
    .describe(
      'Set if further people may have used it: not all people and events were looked at, or the audit is too young or has a policy.',
    ),
  last: auditEvent
    .pick({ auditID: true, verb: true, objectRef: true, requestReceivedTimestamp: true })
    .extend({ user: z.string() })
    .describe('Newest use.'),
});

const notSeen = z.object({
  state: z.literal('NotSeen'),
  since: z.iso.datetime().describe('Time since which the audit has no use.'),
});

const unknownReasons = {
  NoAudit: 'the installation keeps no audit events',
  AuditNotAvailable: 'the audit store does not answer',
  AuditTooYoung: 'the events of the audit begin later than the days that were asked for',
  AuditPolicy: 'the audit policy of the installation may leave out requests',
  RoleHidden: 'the caller may not get the role',
  RoleMissing: 'the role does not exist',
  NotRecorded: 'the role allows nothing that the audit records, such as reads alone',
  MembersUnknown:
    'the binding names a ServiceAccount, a group of the cluster or one that no User record has, or the caller may not know the members of a group',
  TooManyPeople: 'the binding has more than 50 people, and the newest events have no use',
  TooManyEvents: 'one answer does not look at all events of the people',
} as const;
export type UnknownReason = keyof typeof unknownReasons;

const unknown = z.object({
  state: z.literal('Unknown'),
  reason: z.enum(Object.keys(unknownReasons) as [UnknownReason, ...UnknownReason[]]).describe(
    `${Object.entries(unknownReasons)
      .map(([reason, why]) => `\`${reason}\`: ${why}`)
      .join('. ')}.`,
  ),
});

const use = z.discriminatedUnion('state', [used, notSeen, unknown]).meta({
  id: 'StandingUse',
  description:
    'Use of the binding that the audit has. `NotSeen` does not say that the right is unused: reads are not recorded, and requests straight to the API server are seen with its webhook alone.',
});
export type StandingUse = z.output<typeof use>;

const finding = z.enum(['FullControl', 'Escalation', 'Secrets', 'Everyone', 'NoRules', 'NotSeen', 'PartlyUsed']);
export type StandingFinding = z.output<typeof finding>;

const { binding, role, subject } = explainedParts;

const item = z.object({
  severity: z
    .enum(['Critical', 'High', 'Unknown', 'Medium', 'Low'])
    .describe('Severity by the rules of the role, its place and its subjects. `Unknown`: the caller may not get the role.'),
  findings: z.array(finding).describe('Facts that are worth a look, the most important first.'),
  binding,
  role,
  creationTimestamp: z.iso.datetime().exactOptional(),
  subjects: z.array(subject).describe('The first 100 subjects.'),
  people: z.int().describe('Number of the known users: those whom the binding names, and the members of its groups by their User records.'),
  use,
});

export const standingList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('StandingAccessList'),
    metadata: z.object({}),
    complete: z.boolean().describe('`false` if the caller may not list ClusterRoleBindings, or asked for one namespace.'),
    notes: z
      .array(z.enum(['ClusterWideHidden', 'MembersHidden']))
      .describe('Parts that the caller may not see: bindings of the cluster, or members of groups.'),
    from: z.iso.datetime().describe('Time from which on uses were looked for.'),
    auditedSince: z.iso.datetime().exactOptional().describe('Time of the first event that the audit has. Missing if it is not known.'),
    directRequests: z
      .enum(['Seen', 'NotSeen'])
      .describe(
        '`Seen`: the webhook of the API server has told the audit requests since `from` that did not come through the service. They are uses, too. `NotSeen`: it has not, or the audit store does not answer.',
      ),
    total: z.int().describe('Number of items on all pages.'),
    items: z.array(item).describe('Bindings that no access request made and that have no end: the highest severity first.'),
  })
  .meta({
    id: 'StandingAccessList',
    examples: [
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'StandingAccessList', metadata: {}, complete: true, notes: [] },
        ...{ from: '2025-10-14T10:00:00.000Z', auditedSince: '2025-06-01T08:00:00.000Z', directRequests: 'NotSeen', total: 1 },
        items: [
          {
            severity: 'Critical',
            findings: ['FullControl', 'PartlyUsed'],
            binding: { kind: 'ClusterRoleBinding', name: 'platform-admins', namespace: '' },
            role: { kind: 'ClusterRole', name: 'cluster-admin', namespace: '' },
            creationTimestamp: '2025-03-01T11:00:00Z',
            subjects: [{ kind: 'Group', name: 'platform' }],
            people: 14,
            use: {
              state: 'Used',
              users: 3,
              last: {
                ...{ auditID: '0d7a6c1e-5c5f-4a4e-9d3c-0b2f5f0f6a11', verb: 'patch', user: 'ada@example.com' },
                objectRef: { apiGroup: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'shop', name: 'storefront' },
                requestReceivedTimestamp: '2026-01-12T10:00:00.000Z',
              },
            },
          },
        ],
      },
    ],
  });

export type StandingList = z.output<typeof standingList>;
export type StandingItem = StandingList['items'][number];
