import { z } from 'zod';
import { userApiVersion } from '../accounts/user-resource.ts';
import { listSchema } from '../listing/schema.ts';

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

const jane = {
  apiVersion: userApiVersion,
  kind: 'User',
  metadata: {
    name: '8c87b489ce35cf2e2f39f80e282cb2e8',
    uid: '0b0f4a52-7d41-4d8e-9f1b-3f0f6d2f6c1e',
    resourceVersion: '51702',
    creationTimestamp: '2026-01-12T08:30:00Z',
    labels: { 'auth.platform.io/user.email': '8c87b489ce35cf2e2f39f80e282cb2e8', 'auth.platform.io/user.state': 'active' },
  },
  spec: {
    email: 'jane@example.com',
    username: 'Jane Doe',
    connector_type: 'local',
    connector_id: 'local',
    connector_name: 'Local',
    is_admin: false,
    is_disabled: false,
    state: 'active',
    valid: true,
  },
  status: { phase: 'Normal', subjectName: 'jane@example.com', lastLoginTime: '2026-03-01T11:00:00Z' },
};

/** A User as it is answered. Which members `spec` and `status` have, the custom resource definition says. */
export const userSchema = z
  .looseObject({
    apiVersion: z.literal(userApiVersion),
    kind: z.literal('User'),
    metadata,
    spec: z.looseObject({ email: z.string(), username: z.string() }),
    status: z.looseObject({ phase: z.string().optional(), subjectName: z.string().optional() }).optional(),
  })
  .meta({ id: 'User', examples: [jane] });

export const userListSchema = listSchema(userSchema, { apiVersion: userApiVersion, kind: 'UserList' });
