import { hash } from 'node:crypto';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { Manifest } from '../../support/cluster-admin.ts';

/** Members of a user that a test sets; others have the usual values. */
export interface UserParts {
  name?: string;
  username?: string;
  account?: string;
  connector_name?: string;
  is_disabled?: boolean;
  is_admin?: boolean;
  phase?: string;
  subjectName?: string;
  groups?: string[];
  lastLoginTime?: string;
  labels?: Record<string, string>;
}

/** Returns the name of a User record by the name rule. */
export const nameOf = (email: string): string => hash('sha256', email.toLowerCase()).slice(0, 32);

/** Returns a User to be created. */
export function aUser(email: string, parts: UserParts = {}): Manifest {
  const {
    name = nameOf(email),
    username = email,
    phase = 'Normal',
    subjectName = email,
    groups = [],
    lastLoginTime,
    labels,
    ...spec
  } = parts;
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'User',
    metadata: { name, ...(labels && { labels }) },
    spec: { email, username, connector_type: 'local', connector_id: 'local', connector_name: 'Local', is_admin: false, ...spec },
    status: { ...(phase && { phase }), subjectName, groups, ...(lastLoginTime && { lastLoginTime }) },
  };
}

let versions = 1000;

/** Returns a User as the API server returns it. */
export function aStoredUser(email: string, parts: UserParts = {}): KubernetesObject {
  const user = aUser(email, parts);
  versions += 1;
  const given = { uid: `uid-of-${email}`, resourceVersion: String(versions), creationTimestamp: '2026-01-12T08:30:00Z' };
  return { ...user, metadata: { ...user.metadata, ...given, managedFields: [{ manager: 'test' }] } };
}
