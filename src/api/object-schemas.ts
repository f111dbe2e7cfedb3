/** Common members of Kubernetes objects in answers. */
import { z } from 'zod';

const time = z.iso.datetime();
const texts = z.record(z.string(), z.string());

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
export const objectMeta = z
  .object({
    name: z.string(),
    namespace: z.string().optional(),
    generateName: z.string().optional(),
    uid: z.string(),
    resourceVersion: z.string().optional().describe('Missing in the answer to a dry run that makes something.'),
    generation: z.int().optional().describe('Grows with each change of `spec`.'),
    creationTimestamp: time,
    deletionTimestamp: time.optional().describe('Since when it is being deleted.'),
    deletionGracePeriodSeconds: z.int().optional(),
    labels: texts.optional(),
    annotations: texts.optional(),
    finalizers: z.array(z.string()).optional().describe('What has to be done before it is gone.'),
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
      .describe('It goes when these are gone.'),
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
      .describe('Only where the API server answers itself, below `/apis`.'),
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
  .describe('One of each type.');
