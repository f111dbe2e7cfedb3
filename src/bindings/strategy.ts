/** Rules of UserBindings: the right to bind the role, and roles that the service can bind. */
import type { Caller } from '@atrium/http/caller.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { notFoundValue } from '@atrium/objects/field-error.ts';
import { invalid } from '@atrium/objects/status.ts';
import type { Strategy } from '../collection/standard-writes.ts';
import type { Services } from '../services.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import { createdByAnnotation } from '../users/record/labels.ts';
import { clusterRoles, roleError } from './bindable-roles.ts';
import type { UserBindingRow } from './row.ts';
import { bindingErrors, bindingFinalizer, type NewBinding, newBindingBody, userBindingApiVersion, userBindingResource } from './schema.ts';

/** Milliseconds that a deletion waits for the controller, which removes the RBAC first. */
const goneWithinMs = 3_000;

export const bindingStrategy = (
  services: Services,
  cache: Pick<WatchCache<UserBindingRow>, 'isRefused' | 'unavailable'>,
): Strategy<NewBinding, never> => ({
  newBody: newBindingBody,
  admit: (caller) => requireNoAccessToken('bindings', caller),
  errorsOf: bindingErrors,
  beforeCreate: (binding, caller, signal) => requireBindable(services, cache, binding, caller, signal),
  manifestOf,
  // A definition without these fields would drop them, and the role would never expire.
  isStrict: ({ spec: { notBefore, expiresAt } }) => (notBefore ?? expiresAt) !== undefined,
  deletedWithinMs: goneWithinMs,
});

/**
 * Requires the right to bind the role: the service writes the RBAC, and the API server cannot see the caller in those writes. The chart's
 * admission policy, where installed, requires the same.
 *
 * @throws StatusError 401, 403, 422, 503, 504
 */
async function requireBindable(
  services: Services,
  cache: Pick<WatchCache<UserBindingRow>, 'isRefused' | 'unavailable'>,
  { metadata, spec }: NewBinding,
  caller: Caller,
  signal: AbortSignal,
): Promise<void> {
  const { access, config, now } = services;
  const { roleRef } = spec;
  const kind = { group: userBindingResource.group, kind: 'UserBinding', name: metadata?.name ?? '' };
  await access.require(caller, { ...clusterRoles, verb: 'bind', name: roleRef }, signal);
  // Only callers who may bind a role learn whether it exists.
  if (!(await isClusterRole(services, roleRef, signal))) throw invalid(kind, [notFoundValue('spec.roleRef', roleRef)]);
  requireRecentLogin('bindings', caller, config.login.stepUp, now());
  // Without the watch of UserBindings no replica would create the RBAC.
  if (cache.isRefused) throw cache.unavailable();
  const unbindable = await roleError(services, spec, signal);
  if (unbindable !== undefined) throw invalid(kind, [unbindable]);
}

/** Reports whether the ClusterRole exists. Returns true while the roles are unknown. */
export const hasClusterRole = ({ rbac }: Services, name: string): boolean => !rbac.isSynced || rbac.hasClusterRole(name);

/** Reads the role if the watch does not know it, as it may be new. */
async function isClusterRole(services: Services, name: string, signal: AbortSignal): Promise<boolean> {
  if (hasClusterRole(services, name)) return true;
  // The name cannot belong to an object, and cannot be part of a field selector.
  if (!/^[^=,!\\]+$/.test(name)) return false;
  const roles = new ServiceResource(services.client, { type: clusterRoles, kind: 'ClusterRole' });
  return (await roles.getByList(name, signal)) !== undefined;
}

function manifestOf({ metadata = {}, spec }: NewBinding, caller: Caller) {
  const { name, generateName = 'binding-', labels, annotations } = metadata;
  return {
    apiVersion: userBindingApiVersion,
    kind: 'UserBinding',
    metadata: {
      ...(name === undefined ? { generateName } : { name }),
      ...(labels && { labels }),
      annotations: { ...annotations, [createdByAnnotation]: caller.identity.name },
      finalizers: [bindingFinalizer],
    },
    spec,
  };
}
