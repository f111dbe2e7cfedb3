import { z } from 'zod';

/** Both are one and the same to the API server; the answer carries the one that was asked with. */
const apiVersions = ['authorization.orchestrator.io/v1', 'authorization.k8s.io/v1'] as const;

const apiVersion = z.enum(apiVersions).default(apiVersions[0]);

/** JSON null counts as absent, as it does to the API server. */
const text = () => z.string().nullish();

const selector = z
  .object({
    rawSelector: text(),
    requirements: z.array(z.object({ key: text(), operator: text(), values: z.array(z.string()).nullish() })).nullish(),
  })
  .nullish()
  .describe('Counts where the API server knows it, from 1.32 on; else the answer is for the wider request.');

const resourceAttributes = z.object({
  namespace: text(),
  verb: text(),
  group: text(),
  version: text(),
  resource: text(),
  subresource: text(),
  name: text(),
  fieldSelector: selector,
  labelSelector: selector,
});

const nonResourceAttributes = z.object({ path: text(), verb: text() });

/** Nothing but these two members goes to the API server: whoever is asked about is whoever asks. */
const reviewSpec = z
  .object({ resourceAttributes: resourceAttributes.nullish(), nonResourceAttributes: nonResourceAttributes.nullish() })
  .nullish()
  .describe('Exactly one of the two; which of it is valid, the API server says.');

export type ReviewSpec = z.output<typeof reviewSpec>;

const review = z.object({
  apiVersion,
  kind: z.literal('SelfSubjectAccessReview').optional(),
  metadata: z.record(z.string(), z.unknown()).nullish().describe('Must be empty.'),
  spec: reviewSpec,
});

export type Review = z.output<typeof review>;

const reviewList = z.object({
  apiVersion,
  kind: z.literal('SelfSubjectAccessReviewList'),
  items: z
    .array(z.object({ spec: reviewSpec }))
    .default([])
    .describe('1-100 reviews.'),
});

export type ReviewList = z.output<typeof reviewList>;

export const reviewBody = z.discriminatedUnion('kind', [review, reviewList], {
  error: 'must be a SelfSubjectAccessReview or a SelfSubjectAccessReviewList',
});

export const rulesReviewBody = z.object({
  apiVersion,
  kind: z.literal('SelfSubjectRulesReview').optional(),
  spec: z.object({ namespace: text() }).nullish(),
});

export type RulesReview = z.output<typeof rulesReviewBody>;

/** Accepted since kubectl and client libraries send them; a review changes nothing that they could say something about. */
export const reviewQuery = z.object({
  dryRun: z.array(z.string()).optional().describe('Accepted, without effect.'),
  fieldManager: z.array(z.string()).optional().describe('Accepted, without effect.'),
});

export const accessStatus = z
  .object({
    allowed: z.boolean(),
    denied: z.boolean().exactOptional(),
    reason: z.string().exactOptional(),
    evaluationError: z.string().exactOptional(),
  })
  .meta({ id: 'AccessStatus' });

const answered = { apiVersion: z.enum(apiVersions), metadata: z.object({}) };

export const reviewAnswer = z.union([
  z.object({ ...answered, kind: z.literal('SelfSubjectAccessReview'), spec: reviewSpec, status: accessStatus }),
  z.object({
    ...answered,
    kind: z.literal('SelfSubjectAccessReviewList'),
    items: z.array(z.object({ spec: reviewSpec, status: accessStatus })),
  }),
]);

/** `status` as the API server gives it. @see https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/ */
export const rulesStatus = z.looseObject({
  resourceRules: z.array(z.looseObject({ verbs: z.array(z.string()) })),
  nonResourceRules: z.array(z.looseObject({ verbs: z.array(z.string()) })),
  incomplete: z.boolean(),
  evaluationError: z.string().optional(),
});

export const rulesReviewAnswer = z.object({
  ...answered,
  kind: z.literal('SelfSubjectRulesReview'),
  spec: z.object({ namespace: text() }).nullish(),
  status: rulesStatus,
});
