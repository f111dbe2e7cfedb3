import { shownAsBoolean } from '@atrium/http/input.ts';
import { maxSelectorLength } from '@atrium/objects/selectors.ts';
import { z } from 'zod';

/** API versions, which are equal for the API server. The answer has the version of the request. */
const apiVersions = ['authorization.orchestrator.io/v1', 'authorization.k8s.io/v1'] as const;

const apiVersion = z.enum(apiVersions).default(apiVersions[0]);

/** Text; JSON null means absent, as for the API server. */
const text = () => z.string().nullish();

const selector = z
  .object({
    rawSelector: z.string().max(maxSelectorLength).nullish(),
    requirements: z.array(z.object({ key: text(), operator: text(), values: z.array(z.string()).nullish() })).nullish(),
  })
  .meta({ id: 'ReviewSelector' })
  .nullish()
  .describe('Requires Kubernetes 1.32. An older API server answers for the request without it.');

export const resourceAttributes = z
  .object({
    namespace: text(),
    verb: text(),
    group: text(),
    version: text(),
    resource: text(),
    subresource: text(),
    name: text(),
    fieldSelector: selector,
    labelSelector: selector,
  })
  .meta({ id: 'ResourceAttributes' });

export const nonResourceAttributes = z.object({ path: text(), verb: text() }).meta({ id: 'NonResourceAttributes' });

/** Spec of a review. Only these two members are sent to the API server, so the question is always about the caller. */
const reviewSpec = z
  .object({ resourceAttributes: resourceAttributes.nullish(), nonResourceAttributes: nonResourceAttributes.nullish() })
  .meta({ id: 'SelfSubjectAccessReviewSpec' })
  .nullish()
  .describe('Exactly one of both attributes, which the API server validates.');

export type ReviewSpec = z.output<typeof reviewSpec>;

const review = z
  .object({
    apiVersion,
    kind: z.literal('SelfSubjectAccessReview').optional(),
    metadata: z.record(z.string(), z.unknown()).nullish().describe('Must be empty.'),
    spec: reviewSpec,
  })
  .meta({ id: 'SelfSubjectAccessReviewRequest' });

export type Review = z.output<typeof review>;

const question = { resourceAttributes: { namespace: 'shop', verb: 'list', group: 'apps', version: 'v1', resource: 'deployments' } };

const reviewList = z
  .object({
    apiVersion,
    kind: z.literal('SelfSubjectAccessReviewList'),
    items: z
      .array(z.object({ spec: reviewSpec }))
      .default([])
      .describe('1 to 100 reviews.'),
  })
  .meta({ id: 'SelfSubjectAccessReviewListRequest' });

export type ReviewList = z.output<typeof reviewList>;

export const reviewBody = z
  .discriminatedUnion('kind', [review, reviewList], {
    error: 'must be a SelfSubjectAccessReview or a SelfSubjectAccessReviewList',
  })
  .meta({
    id: 'CreateSelfSubjectAccessReviewRequest',
    examples: [
      { apiVersion: apiVersions[0], kind: 'SelfSubjectAccessReview', spec: question },
      { apiVersion: apiVersions[0], kind: 'SelfSubjectAccessReviewList', items: [{ spec: question }] },
    ],
  });

export const rulesReviewBody = z
  .object({
    apiVersion,
    kind: z.literal('SelfSubjectRulesReview').optional(),
    spec: z.object({ namespace: text() }).nullish(),
  })
  .meta({ examples: [{ apiVersion: apiVersions[0], kind: 'SelfSubjectRulesReview', spec: { namespace: 'shop' } }] });

export type RulesReview = z.output<typeof rulesReviewBody>;

/** Parameters that kubectl and client libraries send. They have no effect, because a review changes nothing. */
export const reviewQuery = z.object({
  dryRun: z.array(z.string()).optional().describe('Accepted and ignored.'),
  fieldManager: z.array(z.string()).optional().describe('Accepted and ignored.'),
});

export const explainQuery = reviewQuery.extend({
  explain: z.enum(['true', 'false']).meta(shownAsBoolean).optional().describe('`true`: adds the reason to each status, in `explanation`.'),
});

const role = z
  .object({
    kind: z.enum(['Role', 'ClusterRole']),
    name: z.string(),
    namespace: z.string().describe('Namespace of the Role. Empty for a ClusterRole.'),
  })
  .meta({ id: 'ExplainedRole' });

/** Generators of clients in Python name a model by its place, and lose one of two models of one name. Each has an id instead. */
const binding = z
  .object({
    kind: z.enum(['RoleBinding', 'ClusterRoleBinding']),
    name: z.string(),
    namespace: z.string().describe('Namespace of the binding. Empty: the whole cluster.'),
    userBinding: z.string().exactOptional().describe('UserBinding for which the binding was created.'),
  })
  .meta({ id: 'ExplainedBinding' });

const subject = z
  .object({ kind: z.enum(['User', 'Group', 'ServiceAccount']), name: z.string(), namespace: z.string().exactOptional() })
  .meta({ id: 'ExplainedSubject', description: 'A user, a group of the user, or a ServiceAccount.' });

const texts = z.array(z.string());

const rule = z
  .object({
    verbs: texts,
    apiGroups: texts.exactOptional(),
    resources: texts.exactOptional(),
    resourceNames: texts.exactOptional(),
    nonResourceURLs: texts.exactOptional(),
  })
  .meta({ id: 'ExplainedRule', description: 'Rule of the role that allows the action.' });

/** Parts of an explanation, which answers of the access explorer have, too. */
export const explainedParts = { role, binding, subject, rule };

const explanation = z
  .union([
    z.object({
      source: z.literal('rbac'),
      binding,
      role,
      subject,
      rule,
    }),
    z.object({
      source: z.literal('rbac'),
      roles: z
        .array(role)
        .describe('ClusterRoles that would allow the action and that the caller may get: at most 20, the narrowest first.'),
    }),
    z.object({ source: z.literal('unknown') }),
  ])
  .describe(
    'The binding that allows the action, or the roles that would allow it. `unknown` if another authorizer decides, or RBAC is not loaded yet.',
  )
  .meta({ id: 'AccessExplanation' });

export type Explanation = z.output<typeof explanation>;

/** Status of the API server's answer. */
export const accessStatus = z.object({
  allowed: z.boolean(),
  denied: z.boolean().exactOptional(),
  reason: z.string().exactOptional(),
  evaluationError: z.string().exactOptional(),
});

const answeredStatus = accessStatus
  .extend({ explanation: explanation.exactOptional().describe('Reason, with `explain=true`.') })
  .meta({ id: 'AccessStatus' });

export type AnsweredStatus = z.output<typeof answeredStatus>;

const answered = { apiVersion: z.enum(apiVersions), metadata: z.object({}) };

const answeredExample = {
  apiVersion: apiVersions[0],
  kind: 'SelfSubjectAccessReview',
  metadata: {},
  spec: question,
  status: { allowed: true, reason: 'RBAC: allowed by RoleBinding "jane-edit/shop" of ClusterRole "edit" to User "jane@example.com"' },
};

export const reviewAnswer = z
  .discriminatedUnion('kind', [
    z
      .object({ ...answered, kind: z.literal('SelfSubjectAccessReview'), spec: reviewSpec, status: answeredStatus })
      .meta({ id: 'SelfSubjectAccessReview' }),
    z
      .object({
        ...answered,
        kind: z.literal('SelfSubjectAccessReviewList'),
        items: z.array(z.object({ spec: reviewSpec, status: answeredStatus })),
      })
      .meta({ id: 'SelfSubjectAccessReviewList' }),
  ])
  .meta({
    examples: [
      answeredExample,
      {
        apiVersion: apiVersions[0],
        kind: 'SelfSubjectAccessReviewList',
        metadata: {},
        items: [{ spec: question, status: { allowed: false } }],
      },
    ],
  });

/** `status` in answers. @see https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/ */
export const rulesStatus = z.looseObject({
  resourceRules: z.array(z.looseObject({ verbs: z.array(z.string()) })),
  nonResourceRules: z.array(z.looseObject({ verbs: z.array(z.string()) })),
  incomplete: z.boolean(),
  evaluationError: z.string().optional(),
});

export const rulesReviewAnswer = z
  .object({
    ...answered,
    kind: z.literal('SelfSubjectRulesReview'),
    spec: z.object({ namespace: text() }).nullish(),
    status: rulesStatus,
  })
  .meta({
    examples: [
      {
        apiVersion: apiVersions[0],
        kind: 'SelfSubjectRulesReview',
        metadata: {},
        spec: { namespace: 'shop' },
        status: {
          resourceRules: [{ verbs: ['get', 'list', 'watch'], apiGroups: ['apps'], resources: ['deployments'] }],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
          incomplete: false,
        },
      },
    ],
  });
