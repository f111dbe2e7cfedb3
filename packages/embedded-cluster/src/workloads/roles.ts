/**
 * Rights to workloads in the roles view, edit and admin, and to metrics as metrics-server grants them.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
 */

import { clusterRole, read, rule, write } from '../bootstrap.ts';

const core = ['persistentvolumeclaims', 'pods', 'services'];
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

export const workloadRoles = [
  clusterRole(
    'system:workloads:edit',
    {
      rules: [
        rule([''], commands, [...read, ...write]),
        rule([''], core, write),
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
        rule([''], [...core, 'endpoints', 'limitranges', 'persistentvolumeclaims/status', 'pods/log', 'resourcequotas'], read),
        rule(['apps'], ['controllerrevisions'], read),
        rule(['discovery.k8s.io'], ['endpointslices'], read),
        ...inGroups(read),
      ],
    },
    'view',
  ),
  clusterRole('system:aggregated-metrics-reader', { rules: [rule(['metrics.k8s.io'], ['nodes', 'pods'], read)] }, 'view'),
];
