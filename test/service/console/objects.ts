import { type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';

export const publicLabel = { 'console.platform.io/public': 'true' };

export const configMap = (
  name: string,
  labels: Record<string, string>,
  content: { data?: Record<string, string>; binaryData?: Record<string, string>; annotations?: Record<string, string>; namespace?: string },
): Manifest => {
  const { annotations, namespace = serviceNamespace, ...contents } = content;
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels, ...(annotations && { annotations }) }, ...contents };
};

/** Lets a person get one ConfigMap, whether or not it exists. */
export function mayGetConfigMap(person: string, name: string, namespace = serviceNamespace): Manifest[] {
  const metadata = { name: `${person}-gets-${name}`, namespace };
  return [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
    },
  ];
}
