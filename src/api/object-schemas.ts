/** Common members of Kubernetes objects in bodies and answers. */
import { z } from 'zod';
import { subdomainPattern } from './labels.ts';

const time = z.iso.datetime();
const texts = z.record(z.string(), z.string());

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
export const objectMeta = z
  .object({
    name: z.string(),
    namespace: z.string().optional(),
    generateName: z.string().optional(),
    uid: z.string(),
    resourceVersion: z.string().optional().describe('Missing in the answer to a dry run of a creation.'),
    generation: z.int().optional().describe('Incremented by each change of `spec`.'),
    creationTimestamp: time,
    deletionTimestamp: time.optional().describe('Time of the deletion request.'),
    deletionGracePeriodSeconds: z.int().optional(),
    labels: texts.optional(),
    annotations: texts.optional(),
    finalizers: z.array(z.string()).optional().describe('Finalizers, which delay the deletion.'),
    ownerReferences: z
      .array(
        z.object({
          apiVersion: z.string(),
          kind: z.string(),
          name: z.string(),
          uid: z.string(),
          controller: z.boolean().optional(),
          blockOwnerDeletion: z.boolean().optional(),
        }),
      )
      .optional()
      .describe('Owners. The object is deleted after its owners.'),
    managedFields: z
      .array(
        z.object({
          manager: z.string().optional(),
          operation: z.string().optional(),
          subresource: z.string().optional(),
          apiVersion: z.string().optional(),
          time: time.optional(),
          fieldsType: z.string().optional(),
          fieldsV1: z.looseObject({}).optional(),
        }),
      )
      .optional()
      .describe('Set only in answers of the API server, below `/apis`.'),
  })
  .meta({ id: 'ObjectMeta' });

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/condition/ */
export const conditions = z
  .array(
    z
      .object({
        type: z.string(),
        status: z.enum(['True', 'False', 'Unknown']),
        reason: z.string(),
        message: z.string(),
        lastTransitionTime: time,
        observedGeneration: z.int().optional(),
      })
      .meta({ id: 'Condition' }),
  )
  .describe('Conditions, unique by type.');

/** Name of an object (RFC 1123): one or more DNS labels, at most 253 characters. */
export const objectName = z
  .string()
  .max(253, 'may not be longer than 253 characters')
  .regex(subdomainPattern, 'must be a DNS subdomain: lower-case letters, digits, - and .');

/** Schema of a member that exists, but is not set by callers. @param why text of the violation (see `readObject`) */
export const kept = (why: string) => z.never(why).optional();

export const byService = 'is kept by the service';

/** Refuses a value as forbidden instead of invalid. */
export const forbiddenValue = (error: string) => ({ error, params: { isForbidden: true } });

const ownKeys = /^([^/]+\.)?auth\.platform\.io\//;

/** Labels or annotations of a caller. */
export const marks = <Value extends z.ZodType>(value: Value) =>
  z
    .record(z.string(), value)
    .refine(
      (given) => !Object.keys(given).some((key) => ownKeys.test(key)),
      forbiddenValue('keys below auth.platform.io/ are reserved for the service'),
    );

/** Time of a caller. */
export const givenTime = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-12-31T23:59:59Z (RFC 3339)' });
