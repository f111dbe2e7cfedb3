import type { Deletion } from '../collection/bulk-delete.ts';
import type { Caller } from '../http/operation.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import type { Services } from '../services.ts';
import type { WatchCache } from '../watch/watch-cache.ts';
import { userBindingKind, userBindingResource } from './resource.ts';
import type { UserBindingRow } from './row.ts';

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
