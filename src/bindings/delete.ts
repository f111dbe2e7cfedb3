import type { Deletion } from '../collection/bulk-delete.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { userBindingKind, userBindingResource } from './resource.ts';
import type { UserBindingRow } from './row.ts';

export interface UserBindingDeleterOptions {
  apiServer: ApiServer;
  access: AccessReviews;
  cache: Pick<WatchCache<UserBindingRow>, 'get' | 'until'>;
}

/** The controller removes the RBAC first. */
const goneWithinMs = 3_000;

/** Deletes UserBindings. Who may is asked of the API server; taking rights away takes no right to bind. */
export class UserBindingDeleter {
  readonly #options: UserBindingDeleterOptions;

  constructor(options: UserBindingDeleterOptions) {
    this.#options = options;
  }

  /** Waits for a moment until it is gone, with what was made for it. @throws StatusError 403, 404, 409, 503, 504 */
  async delete({ name, preconditions = {}, isDryRun, asCaller }: Deletion, caller: Caller, signal: AbortSignal): Promise<{ uid: string }> {
    const { apiServer, access, cache } = this.#options;
    if (asCaller) await access.require(caller, { ...userBindingResource, verb: 'delete', name }, signal);
    const resource = asCaller
      ? new CallerResource(apiServer.asCaller(caller), userBindingKind)
      : new ServiceResource(apiServer.asService, userBindingKind);
    const uid = await resource.delete(name, { preconditions, propagationPolicy: 'Background', isDryRun, signal });
    if (!isDryRun) await cache.until(() => cache.get(name)?.uid !== uid, goneWithinMs, signal);
    return { uid };
  }
}
