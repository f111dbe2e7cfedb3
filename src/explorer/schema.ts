import { wholeNumber } from '@atrium/http/input.ts';
import { z } from 'zod';
import { accessStatus, explainedParts, nonResourceAttributes, resourceAttributes } from '../access/schema.ts';

const apiVersion = z.literal('auth.platform.io/v1');

/** Bound of the items of a page. */
const maxItems = 500;

const { binding, role, subject, rule } = explainedParts;

const text = (max = 253) => z.string().max(max, `may not be longer than ${max} characters`);

const notes = z
  .array(z.enum(['SystemMasters', 'ClusterWideHidden', 'MembersHidden', 'GroupsUnknown']))
  .describe('Facts that the items do not show: `SystemMasters` (members may perform every action), or parts that the caller may not see.');

export const subjectsQuery = z.object({
  verb: text().min(1, 'must not be empty').describe('`get`, `list`, `create`, …'),
  group: text().default('').describe('API group; empty for the core group.'),
  resource: text().optional().describe('Plural name, such as `pods`. Required without `path`.'),
  subresource: text().default('').describe('Subresource, such as `scale`.'),
  namespace: text().default('').describe('Namespace. Empty: all namespaces, or a cluster-scoped resource.'),
  name: text().default('').describe('Name of the object. Empty: any object.'),
  path: text(1024).optional().describe('Non-resource path, such as `/metrics`.'),
  limit: wholeNumber({ cap: maxItems })
    .default(100)
    .describe(`Maximum number, 1 to ${maxItems}. A larger number is reduced to ${maxItems}.`),
  page: wholeNumber().default(1).describe('Number of the page of `limit` items, from 1. Empty past the last page.'),
});

export type SubjectsQuery = z.output<typeof subjectsQuery>;

const accessSubject = z.object({
  subject,
  user: z.string().exactOptional().describe('Name of the User record.'),
  memberOf: z.string().exactOptional().describe('Group of the user that is allowed.'),
  binding,
  role,
  rule: rule.exactOptional().describe('Rule. Missing for a role that the caller may not get.'),
});

export type AccessSubject = z.output<typeof accessSubject>;

const exampleBinding = { kind: 'RoleBinding', name: 'dev-edit', namespace: 'shop' };
const exampleRole = { kind: 'ClusterRole', name: 'edit', namespace: '' };
const exampleRule = { verbs: ['create', 'delete', 'patch'], apiGroups: ['apps'], resources: ['deployments'] };

export const accessSubjectList = z
  .object({
    apiVersion,
    kind: z.literal('AccessSubjectList'),
    metadata: z.object({}),
    complete: z.boolean().describe('`false` if the caller may not list ClusterRoleBindings, which may name more subjects.'),
    notes,
    total: z.int().describe('Number of items on all pages.'),
    items: z.array(accessSubject),
  })
  .meta({
    id: 'AccessSubjectList',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'AccessSubjectList',
        metadata: {},
        complete: true,
        notes: ['SystemMasters'],
        total: 1,
        items: [{ subject: { kind: 'Group', name: 'dev' }, binding: exampleBinding, role: exampleRole, rule: exampleRule }],
      },
    ],
  });

export type AccessSubjectList = z.output<typeof accessSubjectList>;

const subjectName = text(512).min(1, 'must not be empty').optional();

export const rulesQuery = z.object({
  user: subjectName.describe('User name as Kubernetes sees it. Exactly one of `user`, `group` and `serviceaccount`.'),
  group: subjectName.describe('Group as Kubernetes sees it.'),
  serviceaccount: text(317)
    .regex(/^[^/]+\/[^/]+$/, 'must be NAMESPACE/NAME')
    .optional()
    .describe('`NAMESPACE/NAME` of a ServiceAccount.'),
  namespace: text(63)
    .min(1, 'must not be empty')
    .optional()
    .describe('Selects the rules that apply in this namespace. Default: all rules.'),
  limit: wholeNumber({ cap: maxItems })
    .default(maxItems)
    .describe(`Maximum number, 1 to ${maxItems}. A larger number is reduced to ${maxItems}.`),
  continue: z.string().max(4096).default('').describe('`metadata.continue` of the previous page.'),
});

export type RulesQuery = z.output<typeof rulesQuery>;

const accessRule = z.object({
  subject,
  binding,
  role,
  rule: rule.exactOptional().describe('A rule of the role.'),
  hidden: z.literal(true).exactOptional().describe('`true` if the caller may not get the role.'),
  missing: z.literal(true).exactOptional().describe('`true` if the role does not exist.'),
});

export type AccessRule = z.output<typeof accessRule>;

export const accessRuleList = z
  .object({
    apiVersion,
    kind: z.literal('AccessRuleList'),
    metadata: z.object({ continue: z.string().exactOptional() }),
    complete: z.boolean().describe('`false` if the caller may not list ClusterRoleBindings.'),
    notes,
    subject,
    groups: z.array(z.string()).describe('Groups of the subject that are included.'),
    items: z.array(accessRule),
  })
  .meta({
    id: 'AccessRuleList',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'AccessRuleList',
        metadata: {},
        complete: true,
        notes: [],
        subject: { kind: 'User', name: 'jane@example.com' },
        groups: ['dev', 'system:authenticated'],
        items: [{ subject: { kind: 'Group', name: 'dev' }, binding: exampleBinding, role: exampleRole, rule: exampleRule }],
      },
    ],
  });

export type AccessRuleList = z.output<typeof accessRuleList>;

const reviewKind = z.literal('SubjectAccessReview');
const kubernetesVersion = z.literal('authorization.k8s.io/v1');

const reviewSpec = z.looseObject({
  user: z.string().nullish(),
  groups: z.array(z.string()).nullish(),
  resourceAttributes: resourceAttributes.nullish(),
  nonResourceAttributes: nonResourceAttributes.nullish(),
});

export const subjectReviewBody = z
  .object({
    apiVersion: kubernetesVersion.optional(),
    kind: reviewKind.optional(),
    spec: reviewSpec.describe('Passed to the API server, which validates it.'),
  })
  .meta({
    id: 'SubjectAccessReviewRequest',
    examples: [
      { spec: { user: 'jane@example.com', groups: ['dev'], resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'shop' } } },
    ],
  });

export type SubjectReview = z.output<typeof subjectReviewBody>;

export const subjectReviewAnswer = z
  .object({
    apiVersion: kubernetesVersion,
    kind: reviewKind,
    metadata: z.object({}),
    spec: reviewSpec,
    status: accessStatus,
  })
  .meta({
    id: 'SubjectAccessReview',
    examples: [
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec: { user: 'jane@example.com', resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'shop' } },
        status: { allowed: false },
      },
    ],
  });
