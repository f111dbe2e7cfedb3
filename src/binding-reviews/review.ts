/** BindingReviews: their answers, and their cached part. Administrators write the spec with kubectl, and the service the status. */
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { labelPattern } from '@atrium/objects/labels.ts';
import { clusterMember, objectMeta } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';
import { explainedParts } from '../access/schema.ts';
import { inLocalCluster, type StandardRow, standardRow } from '../collection/standard-row.ts';

export const bindingReviewResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'bindingreviews' };
export const bindingReviewKind: ResourceKind = { type: bindingReviewResource, kind: 'BindingReview' };
export const reviewApiVersion = `${bindingReviewResource.group}/${bindingReviewResource.version}`;

/** Bound of the custom resource definition. */
export const maxAnswers = 500;

export const reviewName = z.string().max(63).regex(labelPattern).describe('Name of the BindingReview.');

const spec = z.object({
  cluster: clusterMember,
  namespace: z.string().optional().describe('Namespace whose RoleBindings are reviewed.'),
  clusterWide: z.literal(true).optional().describe('Set for a review of the ClusterRoleBindings.'),
  answerSeconds: z.int().describe('Time for answers, in seconds, from the begin of a round.'),
  everySeconds: z.int().optional().describe('Time between the begins of two rounds, in seconds. Absent for a single round.'),
  unanswered: z.enum(['Keep', 'End']).describe('`End` deletes UserBindings of this place alone. Other bindings stay, and are overdue.'),
});
type ReviewSpec = z.output<typeof spec>;

const answer = z.object({
  name: z.string().describe('Name of the binding.'),
  version: z.string().describe('Digest of the binding that was answered.'),
  decision: z.enum(['Kept', 'Shortened', 'Ended']),
  by: z.string().optional().describe('Name of the owner as Kubernetes sees it. Absent if the service ended the binding.'),
  isOwn: z.boolean().optional().describe('True if the owner holds the role by a group of the binding.'),
  until: z.string().optional().describe('End of a shortened binding.'),
  time: z.string(),
});
export type Answer = z.output<typeof answer>;

const status = z.object({
  phase: z.enum(['Open', 'Complete', 'Overdue']).optional(),
  round: z.int().optional().describe('Number of the round, from 1.'),
  openedAt: z.string().optional(),
  dueAt: z.string().optional(),
  reminders: z.int().optional().describe('Number of reminders of the round that reached an owner.'),
  reminderAttempts: z.int().optional().describe('Number of reminders of the round that were due.'),
  reminderFailure: z
    .enum(['NoMailServer', 'NoOwner', 'MailFailed'])
    .optional()
    .describe(
      'Reason why the last reminder reached nobody: no mail server or public URL is set, no user with an address may update the bindings, or the mail server took no mail.',
    ),
  bindings: z.int().optional(),
  open: z.int().optional().describe('Number of bindings without an answer.'),
  answers: z.array(answer).optional().describe('The newest answer about each binding.'),
});
export type ReviewStatus = z.output<typeof status>;

/** Outcome of a reminder. */
export type Reminded = 'Sent' | NonNullable<ReviewStatus['reminderFailure']>;

export const bindingReviewSchema = z
  .object({
    apiVersion: z.literal(reviewApiVersion),
    kind: z.literal('BindingReview'),
    metadata: objectMeta,
    spec,
    status: status.optional(),
  })
  .meta({
    id: 'BindingReview',
    examples: [
      {
        apiVersion: reviewApiVersion,
        kind: 'BindingReview',
        metadata: {
          name: 'shop',
          uid: '4b7d0c52-1e0a-4a5c-8f5e-6a4d8b0f7c31',
          resourceVersion: '52210',
          generation: 1,
          creationTimestamp: '2026-03-01T11:00:00Z',
        },
        spec: { cluster: 'local', namespace: 'shop', answerSeconds: 1_209_600, everySeconds: 7_776_000, unanswered: 'End' },
        status: {
          ...{
            phase: 'Open',
            round: 1,
            openedAt: '2026-03-01T11:00:00Z',
            dueAt: '2026-03-15T11:00:00Z',
            reminders: 1,
            reminderAttempts: 1,
          },
          ...{ bindings: 3, open: 2 },
          answers: [
            {
              ...{ name: 'dev-edit', version: 'q3Jm0aU1mJx1cM7v8q2e0w', decision: 'Kept', by: 'ada@example.com' },
              time: '2026-03-02T09:12:00Z',
            },
          ],
        },
      },
    ],
  });

/** The cached part of a BindingReview. */
export interface ReviewRow extends StandardRow {
  /** Undefined for a review that no definition of ours would accept, which is about no binding. */
  readonly spec: ReviewSpec | undefined;
  /** Namespace of the bindings, '' for those of the cluster. */
  readonly place: string;
  readonly status: ReviewStatus;
}

const stored = { spec: z.object({ spec }), status: z.object({ status }) };

/** Returns the row of a review. Called once for each change. */
export function reviewRow(object: KubernetesObject): ReviewRow {
  const { spec: read } = stored.spec.safeParse(object).data ?? {};
  const { status: written = {} } = stored.status.safeParse(object).data ?? {};
  const isPlaced = read !== undefined && (read.namespace !== undefined) !== (read.clusterWide !== undefined);
  return {
    ...standardRow(bindingReviewKind, object, inLocalCluster),
    spec: isPlaced ? read : undefined,
    place: read?.namespace ?? '',
    status: written,
  };
}

export const reviewProperties: ListProperties<ReviewRow> = {
  searched: new Map<string, (row: ReviewRow) => string>([
    ['name', (row) => row.name],
    ['namespace', (row) => row.place],
  ]),
  search: ['name', 'namespace'],
  compared: new Map<string, (row: ReviewRow) => string>([['phase', (row) => row.status.phase ?? '']]),
  sorted: new Map<string, (row: ReviewRow) => string | undefined>([
    ['name', (row) => row.name],
    ['namespace', (row) => row.place],
    ['phase', (row) => row.status.phase],
    ['dueAt', (row) => row.status.dueAt],
  ]),
  selectable: new Map<string, (row: ReviewRow) => string>([['metadata.name', (row) => row.name]]),
  defaultSort: 'a,name',
};

const bindingName = z.string().min(1, 'must not be empty').max(512, 'may not be longer than 512 characters');

/** An answer of an owner. */
export const answerBody = z
  .strictObject({
    name: bindingName.describe('Name of a binding of the review.'),
    version: z.string().max(64, 'may not be longer than 64 characters').describe('`version` of the binding that the owner saw.'),
    decision: z
      .enum(['Keep', 'Shorten', 'End'])
      .describe('With the rights of the caller, `End` deletes the binding, and `Shorten` gives its UserBinding an end.'),
    until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('End of a shortened binding, at most a year ahead. Only with `Shorten`, which requires it.'),
  })
  .meta({ examples: [{ name: 'dev-edit', version: 'q3Jm0aU1mJx1cM7v8q2e0w', decision: 'Keep' }] });
export type NewAnswer = z.output<typeof answerBody>;

const { binding, role, subject } = explainedParts;

export const reviewedBindingList = z
  .object({
    apiVersion: z.literal(reviewApiVersion),
    kind: z.literal('ReviewedBindingList'),
    metadata: z.object({}),
    total: z.int().describe(`Number of bindings. A review of more than ${maxAnswers} takes no answers, and ends none.`),
    items: z.array(
      z.object({
        binding,
        role,
        subjects: z.array(subject).describe('The first 100 subjects.'),
        version: z.string().describe('Digest of the binding, for an answer about it.'),
        isOwn: z.boolean().describe('True if the binding names the caller, or a group of the caller.'),
        answer: answer.exactOptional().describe('Answer about the binding as it is now.'),
      }),
    ),
  })
  .meta({
    id: 'ReviewedBindingList',
    examples: [
      {
        ...{ apiVersion: reviewApiVersion, kind: 'ReviewedBindingList', metadata: {}, total: 1 },
        items: [
          {
            binding: { kind: 'RoleBinding', name: 'dev-edit', namespace: 'shop' },
            role: { kind: 'ClusterRole', name: 'edit', namespace: '' },
            subjects: [{ kind: 'Group', name: 'dev' }],
            version: 'q3Jm0aU1mJx1cM7v8q2e0w',
            isOwn: false,
          },
        ],
      },
    ],
  });
