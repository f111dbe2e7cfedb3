/** Inputs that several tools take. */
import { labelPattern } from '@atrium/objects/labels.ts';
import { z } from 'zod';

/** A text that becomes a segment of a path, or a part of a selector. */
const segment = z
  .string()
  .min(1, 'must not be empty')
  .max(253)
  .regex(/^[^\s/%\\,=!]+$/, 'must be a name of Kubernetes');

export const resource = z
  .string()
  .max(253)
  .regex(/^[A-Za-z][\w.-]*$/, 'must be the name of a resource such as pods or deployments.apps')
  .describe('Resource by plural, singular, kind or short name, with its group if needed: `pods`, `deploy`, `deployments.apps`.');

export const namespace = z.string().max(63).regex(labelPattern, 'must be a DNS label').describe('Namespace.');

export const name = segment.describe('Name of the object.');

export const limitOf = (max: number, standard: number) =>
  z.int().min(1).max(max).default(standard).describe(`Maximum number of items, 1 to ${max}.`);

export const cursor = z.string().min(1).max(4096).optional().describe('`cursor` of the answer before, for the next items.');

/** An object that a call is about. */
export const object = {
  resource,
  namespace: namespace.optional().describe('Namespace of the object. Required for a kind with namespaces.'),
  name,
};

/** A question about a right. */
export const question = {
  verb: segment.describe('Verb of RBAC: `get`, `list`, `create`, `delete`, …'),
  resource: z
    .string()
    .max(253)
    .regex(/^[A-Za-z*][\w.*/-]*$/, 'must be the name of a resource such as pods, pods/log or deployments.apps')
    .describe('Resource, with its group and subresource if needed: `pods`, `pods/log`, `deployments.apps/scale`.'),
  namespace: namespace.optional().describe('Namespace. Default: the cluster, or all namespaces.'),
  name: name.optional().describe('Name of the object. Default: all objects.'),
};
