/**
 * Objects of every cluster at its start: four namespaces, and the roles and bindings that clients rely on.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
 */

import type { JsonObject, KubernetesObject } from './objects.ts';

const read = ['get', 'list', 'watch'];
const write = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const rbacGroup = 'rbac.authorization.k8s.io';

const rule = (apiGroups: string[], resources: string[], verbs: string[]) => ({ apiGroups, resources, verbs });
const paths = (...nonResourceURLs: string[]) => ({ nonResourceURLs, verbs: ['get'] });
const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

const clusterRole = (name: string, rest: JsonObject, aggregateTo?: string): KubernetesObject => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: 'ClusterRole',
  metadata: {
    name,
    labels: { ...labels, ...(aggregateTo && { [`rbac.authorization.k8s.io/aggregate-to-${aggregateTo}`]: 'true' }) },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  },
  ...rest,
});

const aggregated = (name: string, aggregateTo?: string) =>
  clusterRole(
    name,
    {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [`rbac.authorization.k8s.io/aggregate-to-${name}`]: 'true' } }] },
      rules: [],
    },
    aggregateTo,
  );

const clusterRoleBinding = (name: string, ...groups: string[]): KubernetesObject => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name, labels, annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' } },
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
  subjects: groups.map((group) => ({ apiGroup: rbacGroup, kind: 'Group', name: group })),
});

const namespace = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const discoveryPaths = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
  '/version/',
];
const reviews = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'];

export const bootstrapObjects: readonly KubernetesObject[] = [
  ...['default', 'kube-node-lease', 'kube-public', 'kube-system'].map(namespace),
  clusterRole('cluster-admin', { rules: [rule(['*'], ['*'], ['*']), { nonResourceURLs: ['*'], verbs: ['*'] }] }),
  clusterRole('system:discovery', { rules: [paths(...discoveryPaths)] }),
  clusterRole('system:public-info-viewer', { rules: [paths('/healthz', '/livez', '/readyz', '/version', '/version/')] }),
  clusterRole('system:basic-user', {
    rules: [rule(['authorization.k8s.io'], reviews, ['create']), rule(['authentication.k8s.io'], ['selfsubjectreviews'], ['create'])],
  }),
  clusterRole('system:auth-delegator', {
    rules: [
      rule(['authentication.k8s.io'], ['tokenreviews'], ['create']),
      rule(['authorization.k8s.io'], ['subjectaccessreviews'], ['create']),
    ],
  }),
  aggregated('admin'),
  aggregated('edit', 'admin'),
  aggregated('view', 'edit'),
  clusterRole(
    'system:aggregate-to-admin',
    {
      rules: [
        rule(['authorization.k8s.io'], ['localsubjectaccessreviews'], ['create']),
        rule([rbacGroup], ['rolebindings', 'roles'], [...write, ...read]),
      ],
    },
    'admin',
  ),
  clusterRole(
    'system:aggregate-to-edit',
    {
      rules: [
        rule([''], ['secrets'], read),
        rule([''], ['serviceaccounts'], ['impersonate']),
        rule([''], ['configmaps', 'events', 'pods', 'secrets', 'serviceaccounts', 'services'], write),
        rule([''], ['serviceaccounts/token'], ['create']),
        rule(['coordination.k8s.io'], ['leases'], [...write, ...read]),
      ],
    },
    'edit',
  ),
  clusterRole(
    'system:aggregate-to-view',
    {
      rules: [
        rule([''], ['configmaps', 'events', 'namespaces', 'pods', 'pods/status', 'serviceaccounts', 'services', 'services/status'], read),
      ],
    },
    'view',
  ),
  clusterRoleBinding('cluster-admin', 'system:masters'),
  clusterRoleBinding('system:discovery', 'system:authenticated'),
  clusterRoleBinding('system:public-info-viewer', 'system:authenticated', 'system:unauthenticated'),
  clusterRoleBinding('system:basic-user', 'system:authenticated'),
];

const workloads = ['persistentvolumeclaims', 'pods', 'services'];
const commands = ['pods/attach', 'pods/exec', 'pods/portforward'];
const scaled = ['deployments', 'replicasets', 'statefulsets'];
const byGroup: Readonly<Record<string, readonly string[]>> = {
  apps: ['daemonsets', ...scaled, ...scaled.map((resource) => `${resource}/scale`)],
  autoscaling: ['horizontalpodautoscalers'],
  batch: ['cronjobs', 'jobs'],
  'networking.k8s.io': ['ingresses', 'networkpolicies'],
  policy: ['poddisruptionbudgets'],
};
const inGroups = (verbs: string[]) => Object.entries(byGroup).map(([group, resources]) => rule([group], [...resources], verbs));

/**
 * Rights to workloads in the roles view, edit and admin, and to metrics as metrics-server grants them.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
 */
export const workloadRoles = [
  clusterRole(
    'system:workloads:edit',
    {
      rules: [
        rule([''], commands, [...read, ...write]),
        rule([''], workloads, write),
        rule([''], ['pods/eviction'], ['create']),
        ...inGroups(write),
      ],
    },
    'edit',
  ),
  clusterRole(
    'system:workloads:view',
    {
      rules: [
        rule([''], [...workloads, 'endpoints', 'limitranges', 'persistentvolumeclaims/status', 'pods/log', 'resourcequotas'], read),
        rule(['apps'], ['controllerrevisions'], read),
        rule(['discovery.k8s.io'], ['endpointslices'], read),
        ...inGroups(read),
      ],
    },
    'view',
  ),
  clusterRole('system:aggregated-metrics-reader', { rules: [rule(['metrics.k8s.io'], ['nodes', 'pods'], read)] }, 'view'),
];
