/** Reviews of what another user, a group or a ServiceAccount may do. Kubernetes API: authorization.k8s.io/v1. */

import { api, bodyOf } from '../../api/client';
import { write } from '../../api/objects';
import { asProblem } from '../../api/problem';
import { may, type Right } from '../../app/rights';

export type SubjectKind = 'user' | 'group' | 'account';

export interface Subject {
  kind: SubjectKind;
  /** `namespace/name` of a ServiceAccount. */
  name: string;
}

interface ReviewStatus {
  allowed: boolean;
  reason?: string;
  evaluationError?: string;
}

export interface Review {
  status: ReviewStatus;
  /** Groups that the question counts. */
  groups: readonly string[];
  /** False if the caller may not read the groups of the user, or Atrium has no such user. */
  isWhole: boolean;
}

const group = 'authorization.k8s.io';
const everywhere: Right = { verb: 'create', group, resource: 'subjectaccessreviews' };

/** The rights to ask for others: in the whole cluster, or in one namespace. */
export const rightsToAsk = (namespace: string): Right[] => [
  everywhere,
  ...(namespace ? [{ verb: 'create', group, resource: 'localsubjectaccessreviews', namespace }] : []),
];

/** Returns the right by which the caller asks: the first that the cluster grants. */
export const rightToAsk = (namespace: string): Right => rightsToAsk(namespace).find((right) => may(right) === true) ?? everywhere;

const authenticated = 'system:authenticated';

/** Groups of a user come from the user record: a token may name others, which the console does not know. */
async function identityOf({ kind, name }: Subject): Promise<{ user?: string; groups: string[]; isWhole: boolean }> {
  if (kind === 'group') return { groups: [name], isWhole: true };
  if (kind === 'account') {
    const [namespace = '', account = ''] = name.split('/');
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticated];
    return { user: `system:serviceaccount:${namespace}:${account}`, groups, isWhole: true };
  }
  try {
    const { user } = await bodyOf(api.GET('/auth/v1/usersroles', { params: { query: { email: name, limit: 1 } } }));
    return { user: name, groups: [...new Set([...user.groups, authenticated])], isWhole: true };
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status !== 403 && !problem.isNotFound) throw error;
    return { user: name, groups: [authenticated], isWhole: false };
  }
}

/** Reviews access with the rights of the caller. */
export async function reviewOf(subject: Subject, right: Right): Promise<Review> {
  const { isWhole, ...identity } = await identityOf(subject);
  const { namespace = '' } = right;
  const isLocal = rightToAsk(namespace).namespace !== undefined;
  const kind = isLocal ? 'LocalSubjectAccessReview' : 'SubjectAccessReview';
  const path = isLocal ? `namespaces/${encodeURIComponent(namespace)}/localsubjectaccessreviews` : 'subjectaccessreviews';
  const body = { apiVersion: `${group}/v1`, kind, spec: { ...identity, resourceAttributes: right } };
  const { status } = await write<{ status: ReviewStatus }>(`api/kubernetes/apis/${group}/v1/${path}`, { method: 'POST', body });
  return { status, groups: identity.groups, isWhole };
}

export interface BindingRef {
  resource: 'rolebindings' | 'clusterrolebindings';
  name: string;
  namespace?: string;
}

/** Finds the binding in the reason of the RBAC authorizer: `RBAC: allowed by RoleBinding "name/namespace" of Role …`. */
export function bindingIn(reason = ''): BindingRef | undefined {
  const [, cluster, text = ''] = /^RBAC: allowed by (Cluster)?RoleBinding "([^"\\]+)" of /.exec(reason) ?? [];
  if (text === '') return undefined;
  if (cluster) return { resource: 'clusterrolebindings', name: text };
  const at = text.lastIndexOf('/');
  return { resource: 'rolebindings', name: text.slice(0, at), namespace: text.slice(at + 1) };
}
