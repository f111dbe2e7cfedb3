import { notFoundValue } from '../api/field-error.ts';
import { partsOf } from '../api/reader.ts';
import { invalid } from '../api/status.ts';
import { readObject } from '../api/validation.ts';
import type { WriteRequest } from '../api/write-options.ts';
import type { Deletion } from '../collection/bulk-delete.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken, requireRecentLogin } from '../http/sensitive-writes.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import type { Services } from '../services.ts';
import { createdByAnnotation } from '../users/record/labels.ts';
import type { WatchCache } from '../watch/watch-cache.ts';
import { clusterRoles, roleError } from './bindable-roles.ts';
import type { UserBindingRow } from './row.ts';
import {
  bindingErrors,
  bindingFinalizer,
  type NewBinding,
  newBindingBody,
  userBindingApiVersion,
  userBindingKind,
  userBindingResource,
} from './schema.ts';

/** Reports whether the ClusterRole exists. Returns true while the roles are unknown. */
export const hasClusterRole = ({ rbac }: Services, name: string): boolean => !rbac.isSynced || rbac.hasClusterRole(name);

/**
 * Creates a UserBinding. The service writes its RBAC, and the API server cannot see the caller in those writes, so the caller must be
 * allowed to bind the role. The chart's admission policy, where installed, requires the same.
 *
 * @returns the UserBinding, and the texts of warnings; @throws StatusError 400, 401, 403, 409, 422, 503, 504
 */
export async function createUserBinding(
  services: Services,
  cache: WatchCache<UserBindingRow>,
  { body, isDryRun, fieldValidation }: WriteRequest,
  caller: Caller,
  signal: AbortSignal,
) {
  const { apiServer, access, config, now } = services;
  requireNoAccessToken('bindings', caller);
  await access.require(caller, { ...userBindingResource, verb: 'create' }, signal);
  const { metadata = {} } = partsOf(body);
  const name = typeof metadata.name === 'string' ? metadata.name : '';
  const kind = { group: userBindingResource.group, kind: 'UserBinding', name };
  const { object, warnings } = readObject(newBindingBody, body, { ...kind, fieldValidation, alsoWrong: bindingErrors(body) });
  const { roleRef, notBefore, expiresAt } = object.spec;
  await access.require(caller, { ...clusterRoles, verb: 'bind', name: roleRef }, signal);
  // Only callers who may bind a role learn whether it exists.
  if (!(await isClusterRole(services, roleRef, signal))) throw invalid(kind, [notFoundValue('spec.roleRef', roleRef)]);
  requireRecentLogin('bindings', caller, config.login.stepUp, now());
  // Without the watch of UserBindings no replica would create the RBAC.
  if (cache.isRefused) throw cache.unavailable();
  const unbindable = await roleError(services, object.spec, signal);
  if (unbindable !== undefined) throw invalid(kind, [unbindable]);
  const bindings = new CallerResource(apiServer.asCaller(caller), userBindingKind);
  // A definition without these fields would drop them, and the role would never expire.
  const isStrict = (notBefore ?? expiresAt) !== undefined;
  const binding = await bindings.create(manifestOf(object, caller), { isDryRun, isStrict, signal });
  if (!isDryRun) await cache.waitForWrite(binding.metadata.resourceVersion, signal);
  return { binding, warnings };
}

/** Lists the role if the watch does not know it, as it may be new. The service may list roles, but not get them by name. */
async function isClusterRole(services: Services, name: string, signal: AbortSignal): Promise<boolean> {
  if (hasClusterRole(services, name)) return true;
  // The name cannot belong to an object, and cannot be part of a field selector.
  if (!/^[^=,!\\]+$/.test(name)) return false;
  const roles = new ServiceResource(services.client, { type: clusterRoles, kind: 'ClusterRole' });
  for await (const _role of roles.list({ fieldSelector: `metadata.name=${name}` }, signal)) return true;
  return false;
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

/** Milliseconds that a deletion waits for the controller, which removes the RBAC first. */
const goneWithinMs = 3_000;

/**
 * Deletes a UserBinding. The API server decides who may delete it; revoking a role needs no right to bind it. Waits for a moment until
 * the UserBinding and its managed bindings are removed.
 *
 * @throws StatusError 403, 404, 409, 503, 504
 */
export async function deleteUserBinding(
  { apiServer, access }: Services,
  cache: WatchCache<UserBindingRow>,
  { name, preconditions = {}, isDryRun, asCaller }: Deletion,
  caller: Caller,
  signal: AbortSignal,
): Promise<{ uid: string }> {
  if (asCaller) await access.require(caller, { ...userBindingResource, verb: 'delete', name }, signal);
  const resource = asCaller
    ? new CallerResource(apiServer.asCaller(caller), userBindingKind)
    : new ServiceResource(apiServer.asService, userBindingKind);
  const uid = await resource.delete(name, { preconditions, propagationPolicy: 'Background', isDryRun, signal });
  if (!isDryRun) await cache.until(() => cache.get(name)?.uid !== uid, goneWithinMs, signal);
  return { uid };
}
