import { z } from 'zod';
import { userApiVersion } from '../accounts/user-resource.ts';

/** RFC 1123: one or more DNS labels, at most 253 characters. */
export const userName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
  .describe('Name of the record: the first 32 hex digits of the SHA-256 of the lower-cased e-mail address.');

const metadata = z.looseObject({
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  creationTimestamp: z.iso.datetime(),
  labels: z.record(z.string(), z.string()).optional(),
});

/** A User as it is answered. Which members `spec` and `status` have, the custom resource definition says. */
export const userSchema = z
  .looseObject({
    apiVersion: z.literal(userApiVersion),
    kind: z.literal('User'),
    metadata,
    spec: z.looseObject({ email: z.string(), username: z.string() }),
    status: z.looseObject({ phase: z.string().optional(), subjectName: z.string().optional() }).optional(),
  })
  .meta({ id: 'User' });

export const userListSchema = z
  .object({
    apiVersion: z.literal(userApiVersion),
    kind: z.literal('UserList'),
    metadata: z.object({
      resourceVersion: z.string().describe('How far this replica has seen the cluster.'),
      continue: z.string().describe('Where to go on; empty on the last page.'),
      remainingItemCount: z.number().int().describe('How many follow this page.'),
    }),
    total: z.number().int().describe('How many match, on all pages.'),
    items: z.array(userSchema),
  })
  .meta({ id: 'UserList' });
