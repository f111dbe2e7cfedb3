import type { Manifest } from '../../support/cluster-admin.ts';
import { nameOf } from '../users/a-user.ts';

export const policiesPath = '/apis/auth.platform.io/v1/accesspolicies';
export const requestsPath = '/apis/auth.platform.io/v1/accessrequests';
export const mergePatch = { 'content-type': 'application/merge-patch+json' };

interface Subject {
  kind: 'User' | 'Group';
  name: string;
}

export const user = (name: string): Subject => ({ kind: 'User', name });

/** Returns a policy by which jane may ask for `view` in the namespace `shop`, and carl decides. */
export const aPolicy = (name: string, spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessPolicy',
  metadata: { name },
  spec: {
    subjects: [user('jane@example.com')],
    roleRefs: ['view'],
    scope: { namespaces: { names: ['shop'] } },
    maxSeconds: 3600,
    approvals: 1,
    approvers: [user('carl@example.com')],
    ...spec,
  },
});

/** Returns a request of jane as the service stores it. */
export const aRequest = (name: string, spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessRequest',
  metadata: { name },
  spec: {
    requester: 'jane@example.com',
    record: nameOf('jane@example.com'),
    recordUID: 'u-1',
    policy: { name: 'shop', uid: 'p-1', generation: 1 },
    subject: user('jane@example.com'),
    roleRef: 'view',
    roleUID: 'r-1',
    scope: 'namespace',
    namespaces: ['shop'],
    reason: 'the shop is down',
    durationSeconds: 600,
    approvals: 1,
    ...spec,
  },
});
