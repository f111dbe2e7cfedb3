/** The ClusterRoles that the service's own account may bind. */
import type { Caller } from '@atrium/http/caller.ts';
import { userBindingsCommand } from '@atrium/kubernetes/manifests.ts';
import { isAboutResource, policyRules } from '@atrium/kubernetes/rbac/rules.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { FieldError } from '@atrium/objects/field-error.ts';
import { reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { outcomeOf } from './managed-bindings.ts';
import { emptyManifest, managedKind } from './role-binding.ts';
import type { NewBinding } from './schema.ts';

const bindRight = { verb: 'bind', group: 'rbac.authorization.k8s.io', resource: 'clusterroles', subresource: '' };
const maxNamed = 20;
const moreRoles = 'rbac.userBindings.clusterRoles of the chart adds roles, or deploy/manifests/user-bindings.yaml';

export const clusterRoles: ResourceType = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };

const bindableRole = z.object({
  name: z.string(),
  bindable: z.object({
    isBindable: z.boolean().describe('`true` if the ServiceAccount of Atrium may bind the role.'),
    reason: z.string().optional().describe('Reason why the role is not bindable, with the remedy.'),
  }),
});

export const bindableRoleList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('BindableRoleList'),
    metadata: z.object({}),
    items: z.array(bindableRole).describe('ClusterRoles, sorted by name.'),
  })
  .meta({
    id: 'BindableRoleList',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'BindableRoleList',
        metadata: {},
        items: [
          { name: 'cluster-admin', bindable: { isBindable: false, reason: `the service may not bind it; ${moreRoles}` } },
          { name: 'view', bindable: { isBindable: true } },
        ],
      },
    ],
  });

/** Lists the ClusterRoles for a caller who may list them. @throws StatusError 403, 503, 504 */
export async function listBindableRoles(
  services: Services,
  caller: Caller,
  signal: AbortSignal,
): Promise<z.output<typeof bindableRoleList>> {
  await services.access.require(caller, { ...clusterRoles, verb: 'list' }, signal);
  services.rbac.requireSynced();
  const bindable = new Set(await bindableRoles(services, signal));
  const names = Array.from(services.rbac.rolesFor(''), ({ name }) => name).sort();
  const items = names.map((name) => ({
    name,
    bindable: bindable.has(name) ? { isBindable: true } : { isBindable: false, reason: `the service may not bind it; ${moreRoles}` },
  }));
  return { apiVersion: 'auth.platform.io/v1', kind: 'BindableRoleList', metadata: {}, items };
}

/**
 * Checks that the service may bind the role of a UserBinding. A dry run tries the binding, because the API server also lets an account
 * bind a role whose rules it holds itself, which no access review reports.
 *
 * @returns the error with the roles that the service may bind; undefined if it may bind this one
 * @throws StatusError 503, 504
 */
export async function roleError(
  services: Services,
  { roleRef, scope, constraint = [] }: NewBinding['spec'],
  signal: AbortSignal,
): Promise<FieldError | undefined> {
  // Only the leader knows the namespaces of a project. Rights of the chart hold in all of them.
  const namespace = scope === 'namespace' ? (constraint[0]?.namespace ?? '') : '';
  const bindings = new ServiceResource(services.client, managedKind(namespace));
  try {
    await bindings.create(emptyManifest(roleRef, namespace), { isDryRun: true, signal });
    return undefined;
  } catch (error) {
    // Other refusals concern the namespace or another policy. The status of the UserBinding reports them.
    if (outcomeOf(error, roleRef) !== 'not-allowed') return undefined;
  }
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${JSON.stringify(roleRef)}: the service may bind ${listed(await bindableRoles(services, signal))}`,
    field: 'spec.roleRef',
  };
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return `no ClusterRole; ${userBindingsCommand}`;
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  const shown = names.slice(0, maxNamed).map((name) => JSON.stringify(name));
  return `${shown.join(', ')}${more}; ${moreRoles}`;
}

/** @see https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-rules-review-v1/ */
const readReview = reader(z.object({ status: z.object({ resourceRules: z.array(z.unknown()) }) }));

/** Returns the names of existing ClusterRoles that the service may bind, sorted. */
async function bindableRoles({ client, namespace, rbac }: Services, signal: AbortSignal): Promise<string[]> {
  const answer = await client.request({
    call: 'create selfsubjectrulesreviews',
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } },
    isRepeatable: true,
    signal,
  });
  const rules = policyRules(readReview(answer).status?.resourceRules).filter((rule) => isAboutResource(rule, bindRight));
  const isAny = rules.some(({ resourceNames }) => resourceNames.length === 0);
  const names = isAny ? Array.from(rbac.rolesFor(''), ({ name }) => name) : rules.flatMap(({ resourceNames }) => resourceNames);
  return [...new Set(names)].filter((name) => rbac.hasClusterRole(name)).sort();
}
