/** Dry runs of simulated changes, with the rights of the caller. They change nothing, and tell what the API server would refuse. */
import { badRequest, StatusError } from '../api/status.ts';
import { createUserBinding } from '../bindings/create.ts';
import { deleteUserBinding } from '../bindings/delete.ts';
import { GroupMembers } from '../groups/members.ts';
import { requireSensitiveWrite } from '../http/sensitive-writes.ts';
import { CallerResource, type ResourceKind } from '../kubernetes/resource-client.ts';
import type { Asking, ExplorerContext } from './context.ts';
import type { Deletion, MemberChange, Refusal, RoleChange, SimulatedChange } from './simulation-schema.ts';

const plurals = {
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  ClusterRole: 'clusterroles',
} as const;

/** @returns the refused changes. @throws StatusError 429, 503, 504 */
export async function dryRuns(context: ExplorerContext, changes: readonly SimulatedChange[], asking: Asking): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  for (const [change, asked] of changes.entries()) {
    try {
      await dryRun(context, asked, asking);
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code >= 500 || error.status.code === 429) throw error;
      const { code, reason = '', message } = error.status;
      refusals.push({ change, code, reason, message });
    }
  }
  return refusals;
}

function dryRun(context: ExplorerContext, change: SimulatedChange, asking: Asking): Promise<unknown> {
  const { services, userBindings } = context;
  const { caller, signal } = asking;
  if (change.type === 'role') return dryRunRole(context, change, asking);
  if (change.type === 'member') return dryRunMember(context, change, asking);
  if (change.type === 'delete') return dryRunDeletion(context, change, asking);
  const request = { body: change.userBinding, isDryRun: true, fieldValidation: 'Strict' as const };
  return userBindings ? createUserBinding(services, userBindings.cache, request, caller, signal) : featureOff('userBindings');
}

async function dryRunMember({ services, groups, users }: ExplorerContext, change: MemberChange, { caller, signal }: Asking): Promise<void> {
  if (groups === undefined) return featureOff('groups');
  const members = new GroupMembers({ services, groups, accounts: users.accounts });
  const { items } = await members.change(
    { group: change.group, names: [change.user], action: change.action, isDryRun: true },
    caller,
    signal,
  );
  for (const { status, code, reason = '', message = '' } of items)
    if (status === 'Failure') throw new StatusError(code, reason === 'NotFound' ? 'NotFound' : 'Invalid', message);
}

async function dryRunRole({ services }: ExplorerContext, { role }: RoleChange, { caller, signal }: Asking): Promise<void> {
  const { kind, metadata, rules } = role;
  const namespace = kind === 'Role' ? (metadata.namespace ?? '') : '';
  requireSensitiveWrite('bindings', caller, services.config.login.stepUp, services.now());
  const roles = new CallerResource(services.apiServer.asCaller(caller), kindOf(kind, namespace));
  const options = { isDryRun: true, signal };
  if (services.rbac.role(namespace, metadata.name) === undefined) {
    await roles.create({ apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata, rules }, options);
    return;
  }
  const { labels } = metadata;
  await roles.patch(metadata.name, { ...(labels && { metadata: { labels } }), rules }, options);
}

function dryRunDeletion(
  { services, userBindings }: ExplorerContext,
  { kind, name, namespace = '' }: Deletion,
  { caller, signal }: Asking,
): Promise<unknown> {
  if (kind !== 'UserBinding')
    return new CallerResource(services.apiServer.asCaller(caller), kindOf(kind, namespace)).delete(name, { isDryRun: true, signal });
  if (userBindings === undefined) return featureOff('userBindings');
  return deleteUserBinding(services, userBindings.cache, { name, isDryRun: true, asCaller: true }, caller, signal);
}

const kindOf = (kind: keyof typeof plurals, namespace: string): ResourceKind => ({
  type: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: plurals[kind] },
  kind,
  ...(!kind.startsWith('Cluster') && { namespace }),
});

const featureOff = (feature: string) => Promise.reject(badRequest(`features.${feature} is off`));
