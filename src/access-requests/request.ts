/** AccessRequests: bodies, answers, and their cached part. Only the service writes them. */
import { policyRuleSchema } from '@atrium/kubernetes/rbac/rules.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { labelPattern } from '@atrium/objects/labels.ts';
import { clusterMember, objectMeta, shownText } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';
import { inLocalCluster, type StandardRow, standardRow } from '../collection/standard-row.ts';
import { accessApiVersion } from './policy.ts';

export const accessRequestResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'accessrequests' };
export const accessRequestKind: ResourceKind = { type: accessRequestResource, kind: 'AccessRequest' };

const maxDurationSeconds = 1_209_600;
const minDurationSeconds = 300;
/** Bound of the custom resource definition. */
export const maxBreakGlassSeconds = 3600;
/** A request is decided before the access begins, and kept no longer than two weeks ahead. */
export const maxAheadMs = maxDurationSeconds * 1000;
/** Bound of the custom resource definition. */
export const maxDecisions = 10;

export const phases = ['Pending', 'Approving', 'Scheduled', 'Active', 'Denied', 'Withdrawn', 'Lapsed', 'Ended'] as const;
export type Phase = (typeof phases)[number];

/** Phases in which a request may still give access. */
const openPhases: readonly string[] = ['', 'Pending', 'Approving', 'Scheduled', 'Active'];
export const isOpen = ({ phase }: Pick<RequestRow, 'phase'>): boolean => openPhases.includes(phase);

const dnsLabel = z
  .string()
  .max(63, 'may not be longer than 63 characters')
  .regex(labelPattern, 'must be a DNS label: lower-case letters, digits and -');
const wholeTime = z
  .string()
  .refine(
    (text) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
    'must be a time in UTC such as 2026-12-31T23:59:59Z',
  );

export const requestName = z
  .string()
  .regex(/^areq-[0-9a-f]{16}$/)
  .describe('Name of the AccessRequest.');

/** A request of the caller. */
export const newRequestBody = z
  .strictObject({
    cluster: clusterMember,
    policy: z.string().min(1, 'must not be empty').max(63, 'may not be longer than 63 characters').describe('Name of an AccessPolicy.'),
    roleRef: z
      .string()
      .min(1, 'must not be empty')
      .max(253, 'may not be longer than 253 characters')
      .describe('A ClusterRole of the policy.'),
    scope: z.enum(['platform', 'namespace']).describe('The whole platform, or namespaces.'),
    namespaces: z
      .array(dnsLabel)
      .min(1, 'must hold at least one namespace')
      .max(20, 'may not hold more than 20 namespaces')
      .optional()
      .describe('For the scope `namespace`: 1-20 namespaces that the policy covers.'),
    reason: shownText(1024)
      .refine((text) => text.length >= 10, 'must have at least 10 characters')
      .optional()
      .describe('Reason for the approvers, 10-1024 characters of one line. Required unless the policy says otherwise.'),
    ticket: shownText(128)
      .refine((text) => text.length > 0, 'must not be empty')
      .optional()
      .describe('Ticket, where the policy has a pattern for it.'),
    notBefore: wholeTime.optional().describe('Earliest begin of the access, at most two weeks ahead. Default: at once.'),
    breakGlass: z
      .boolean()
      .optional()
      .describe('True for access at once, without the approvals, for an hour at most, where the policy allows it. Needs a recent login.'),
    durationSeconds: z
      .int()
      .min(minDurationSeconds, `must be at least ${minDurationSeconds}`)
      .max(maxDurationSeconds, `may not be more than ${maxDurationSeconds}`)
      .describe('Duration of the access, up to the maximum of the policy.'),
  })
  .meta({
    examples: [
      {
        policy: 'shop-debug',
        roleRef: 'edit',
        scope: 'namespace',
        namespaces: ['shop'],
        reason: 'the payment worker hangs since 11:00',
        durationSeconds: 3600,
      },
    ],
  });

export type NewRequest = z.output<typeof newRequestBody>;

export const decisionBody = z
  .strictObject({
    approve: z.boolean().describe('True to approve, false to deny.'),
    comment: shownText(1024).optional().describe('Comment for the requester, one line.'),
  })
  .meta({ examples: [{ approve: true, comment: 'for this incident only' }] });

export type NewDecision = z.output<typeof decisionBody>;

export const reviewBody = z
  .strictObject({ comment: shownText(1024).optional().describe('Result of the review, one line.') })
  .meta({ examples: [{ comment: 'justified by the incident of that night' }] });

export type NewReview = z.output<typeof reviewBody>;

const decision = z.object({
  by: z.string().describe('Name of the approver as Kubernetes sees it.'),
  record: z.string().describe("Name of the approver's User record."),
  approve: z.boolean(),
  isVoid: z.boolean().describe('True if the approver was no longer an approver at the last approval.'),
  comment: z.string().optional(),
  time: z.string(),
});
export type Decision = z.output<typeof decision>;

const spec = z.object({
  cluster: clusterMember,
  requester: z.string().describe('Name of the requester as Kubernetes sees it.'),
  record: z.string().describe("Name of the requester's User record."),
  recordUID: z.string(),
  policy: z.object({ name: z.string(), uid: z.string(), generation: z.int() }),
  subject: z.object({ kind: z.enum(['User', 'Group']), name: z.string() }).describe('Subject of the policy that fits the requester.'),
  roleRef: z.string(),
  roleUID: z.string(),
  scope: z.enum(['platform', 'namespace']),
  namespaces: z.array(z.string()).optional(),
  reason: z.string().optional(),
  ticket: z.string().optional(),
  ticketPattern: z.string().optional(),
  notBefore: z.string().optional(),
  durationSeconds: z.int(),
  approvals: z.int().describe('Number of approvals that the policy required when the request was made.'),
  breakGlass: z.boolean().default(false).describe('Access at once, without the approvals. An approver reviews it afterwards.'),
});
export type RequestSpec = z.output<typeof spec>;

const review = z.object({
  by: z.string().describe('Name of the reviewer as Kubernetes sees it.'),
  record: z.string().describe("Name of the reviewer's User record."),
  comment: z.string().optional(),
  time: z.string(),
});
export type Review = z.output<typeof review>;

const notice = z.object({ event: z.string(), time: z.string(), outcome: z.enum(['Sent', 'Failed']) });
export type Notice = z.output<typeof notice>;

const status = z.object({
  phase: z.enum(phases).optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  begin: z.string().optional(),
  until: z.string().optional(),
  ended: z.string().optional().describe('Time when the request reached a final phase.'),
  endedBy: z.string().optional(),
  binding: z.string().optional().describe('Name of the UserBinding.'),
  decisions: z.array(decision).optional(),
  review: review.optional().describe('Review of break-glass.'),
  rulesHash: z.string().optional().describe('SHA-256 of the rules of the role, as the service saw them last.'),
  rulesChangedAt: z.string().optional().describe('Time of the last change of the rules of the role while the request was open.'),
  notices: z.array(notice).optional().describe('Events that were sent to users and webhooks.'),
});

export const accessRequestSchema = z
  .object({
    apiVersion: z.literal(accessApiVersion),
    kind: z.literal('AccessRequest'),
    metadata: objectMeta,
    spec,
    status: status.optional(),
    role: z
      .object({ rules: z.array(policyRuleSchema) })
      .optional()
      .describe('The role as it is now. Only for approvers who get one request; absent once it is deleted.'),
  })
  .meta({
    id: 'AccessRequest',
    examples: [
      {
        apiVersion: accessApiVersion,
        kind: 'AccessRequest',
        metadata: {
          name: 'areq-5f2c9a70b1d4e863',
          uid: '0c5d7f11-8d0b-4b6a-9d35-1c0f3f9f8a21',
          resourceVersion: '52180',
          generation: 1,
          creationTimestamp: '2026-03-01T11:05:00Z',
        },
        spec: {
          cluster: 'local',
          requester: 'jane@example.com',
          record: '8c87b489ce35cf2e2f39f80e282cb2e8',
          recordUID: '9a0e5f3c-7b1d-4a53-8a0e-1f2b8f6f5d10',
          policy: { name: 'shop-debug', uid: '7d3a1f60-52c1-4c5e-9a0e-3b0f6a2f5d11', generation: 1 },
          subject: { kind: 'Group', name: 'local:dev' },
          roleRef: 'edit',
          roleUID: 'c1c7d6a4-2f1e-4f0b-8a35-5f1a7c3e9b02',
          scope: 'namespace',
          namespaces: ['shop'],
          reason: 'the payment worker hangs since 11:00',
          durationSeconds: 3600,
          approvals: 1,
          breakGlass: false,
        },
        status: { phase: 'Pending' },
      },
    ],
  });

const storedSpec = z.object({ spec });
const storedStatus = z.object({ status });

/** The cached part of an AccessRequest. Times are in milliseconds since 1970, `NaN` if absent. */
export interface RequestRow extends StandardRow {
  /** '' before the first status. */
  readonly phase: Phase | '';
  /** Undefined for a request that no definition of ours would accept, which gives no access. */
  readonly spec: RequestSpec | undefined;
  readonly decisions: readonly Decision[];
  readonly review: Review | undefined;
  readonly rulesHash: string | undefined;
  /** The stored status, for notices. */
  readonly told: z.output<typeof status>;
  readonly created: number;
  readonly begin: number;
  readonly until: number;
  readonly ended: number;
}

/** Returns the row of a request. Called once for each change. */
export function requestRow(object: KubernetesObject): RequestRow {
  const { status: read = {} } = storedStatus.safeParse(object).data ?? {};
  const { spec: asked } = storedSpec.safeParse(object).data ?? {};
  return {
    ...standardRow(accessRequestKind, object, inLocalCluster),
    phase: read.phase ?? '',
    spec: asked,
    decisions: read.decisions ?? [],
    review: read.review,
    rulesHash: read.rulesHash,
    told: read,
    created: Date.parse(object.metadata.creationTimestamp),
    begin: Date.parse(read.begin ?? ''),
    until: Date.parse(read.until ?? ''),
    ended: Date.parse(read.ended ?? ''),
  };
}

/** Returns the name of the UserBinding of a request. The admission policy allows no other. */
export const bindingNameOf = ({ uid }: Pick<RequestRow, 'uid'>): string => `ar-${uid}`;

const textOf = (value: string | undefined): string => folded(value ?? '');

export const requestProperties: ListProperties<RequestRow> = {
  searched: new Map<string, (row: RequestRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['requester', (row) => textOf(row.spec?.requester)],
    ['roleRef', (row) => textOf(row.spec?.roleRef)],
    ['namespace', (row) => row.spec?.namespaces ?? []],
    ['reason', (row) => textOf(row.spec?.reason)],
  ]),
  search: ['name', 'requester', 'roleRef', 'reason'],
  compared: new Map<string, (row: RequestRow) => string>([
    ['phase', (row) => row.phase],
    ['policy', (row) => row.spec?.policy.name ?? ''],
    ['scope', (row) => row.spec?.scope ?? ''],
  ]),
  sorted: new Map<string, (row: RequestRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['requester', (row) => textOf(row.spec?.requester)],
    ['roleRef', (row) => row.spec?.roleRef],
    ['phase', (row) => row.phase || undefined],
    ['until', (row) => (Number.isNaN(row.until) ? undefined : row.until)],
    ['creationTimestamp', (row) => row.created],
  ]),
  selectable: new Map<string, (row: RequestRow) => string>([
    ['metadata.name', (row) => row.name],
    ['spec.record', (row) => row.spec?.record ?? ''],
    ['spec.policy.name', (row) => row.spec?.policy.name ?? ''],
    ['status.phase', (row) => row.phase],
  ]),
  defaultSort: 'd,creationTimestamp',
};
