/** Bodies of standard resources without namespaces: metadata, which are alike for all of them, around the spec of one. */
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { byService, kept, marks, objectMeta, objectName } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';

const keptMetadata = (noun: string) => ({
  generateName: kept(`give a ${noun} its name`),
  ownerReferences: kept(`a ${noun} has no owner`),
  finalizers: kept(`a ${noun} has no finalizers here`),
  namespace: kept(`a ${noun} has no namespace`),
});

const typeOf = ({ type: { group, version }, kind }: ResourceKind) => ({
  apiVersion: z.literal(`${group}/${version}`),
  kind: z.literal(kind),
});

/** Returns the schema of an object to create. @param noun names the object in violations */
export const newObjectBody = <Spec extends z.ZodType>(kind: ResourceKind, noun: string, spec: Spec) =>
  z.strictObject({
    ...z.object(typeOf(kind)).partial().shape,
    metadata: z.strictObject({
      ...keptMetadata(noun),
      name: objectName,
      labels: marks(z.string()).optional(),
      annotations: marks(z.string()).optional(),
      uid: kept(byService),
      resourceVersion: kept('must not be set when an object is created'),
      creationTimestamp: z.null(byService).optional(),
    }),
    spec,
    status: kept(byService),
  });

/** Returns the schema of a change. Null deletes a field. @param noun names the object in violations */
export const objectPatchBody = <Spec extends z.ZodType>(kind: ResourceKind, noun: string, spec: Spec) =>
  z.strictObject({
    ...z.object(typeOf(kind)).partial().shape,
    metadata: z
      .strictObject({
        ...keptMetadata(noun),
        name: z.string().optional().describe('Optional. Must equal the name in the path.'),
        resourceVersion: z.string().optional().describe('Expected version. Another version is a conflict.'),
        uid: z.string().optional(),
        labels: marks(z.string().nullable()).optional(),
        annotations: marks(z.string().nullable()).optional(),
        creationTimestamp: kept('cannot be changed'),
      })
      .optional(),
    spec: spec.optional(),
    status: kept(byService),
  });

/** Returns the schema of an object in answers. */
export const servedObjectSchema = <Spec extends z.ZodType>(kind: ResourceKind, spec: Spec) =>
  z.object({ ...typeOf(kind), metadata: objectMeta, spec });
