/** Manifests of the suites that bind users, groups and service accounts. */
import type { ClusterAdmin, Manifest } from '../../support/cluster-admin.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

export interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export const aNamespace = (name: string, labels: Record<string, string> = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

/** Returns a ClusterRole, or a Role if a namespace is given. */
export const aRole = (name: string, rules: Rule[], namespace?: string): Manifest => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: namespace === undefined ? 'ClusterRole' : 'Role',
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  rules,
});

/** Returns a rule for pods of the core group, the subject of most questions. */
export const podRule = (verbs: string[], more: Partial<Rule> = {}): Rule => ({ apiGroups: [''], resources: ['pods'], verbs, ...more });

/** `User:jane`, `Group:dev`, or `ServiceAccount:ci/builder`. */
type SubjectText = `${'User' | 'Group' | 'ServiceAccount'}:${string}`;

function subjectOf(text: SubjectText) {
  const [kind = '', ...rest] = text.split(':');
  const name = rest.join(':');
  if (kind !== 'ServiceAccount') return { apiGroup: rbacGroup, kind, name };
  const [namespace, account] = name.split('/');
  return { kind, namespace, name: account };
}

interface BindingParts {
  role: string;
  to: SubjectText | SubjectText[];
  /** Default: all namespaces. */
  namespace?: string;
  roleKind?: 'Role' | 'ClusterRole';
}

export const aBinding = (name: string, { role, to, namespace, roleKind = 'ClusterRole' }: BindingParts): Manifest => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  roleRef: { apiGroup: rbacGroup, kind: roleKind, name: role },
  subjects: [to].flat().map(subjectOf),
});

export const bindingPath = (name: string, namespace?: string): string =>
  namespace === undefined
    ? `/apis/${rbacGroup}/v1/clusterrolebindings/${name}`
    : `/apis/${rbacGroup}/v1/namespaces/${namespace}/rolebindings/${name}`;

/** Creates a service account, and returns a token of it. */
export async function accountToken(kubernetes: ClusterAdmin, namespace: string, name: string): Promise<string> {
  await kubernetes.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } });
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const { body } = await kubernetes.call('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, review);
  return (body as { status: { token: string } }).status.token;
}
