import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { isRecord, resourcePath } from '../kubernetes/resource.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Deletion } from '../listing/bulk-delete.ts';
import { userBindingResource } from './resource.ts';
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
    const client = asCaller ? apiServer.asCaller(caller) : apiServer.asService;
    const answer = await client.request({
      method: 'DELETE',
      path: resourcePath(userBindingResource, { name }),
      // Where there is a body, the API server looks at no query.
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions,
        propagationPolicy: 'Background',
        ...(isDryRun && { dryRun: ['All'] }),
      },
      call: 'delete userbindings',
      signal,
    });
    const uid = uidOf(answer);
    if (!isDryRun) await cache.until(() => cache.get(name)?.uid !== uid, goneWithinMs, signal);
    return { uid };
  }
}

/** The API server answers with the object, or with a Status about it. */
function uidOf(answer: unknown): string {
  const { metadata, details } = isRecord(answer) ? answer : {};
  const [found] = [metadata, details].flatMap((part) => (isRecord(part) && typeof part.uid === 'string' ? [part.uid] : []));
  return found ?? '';
}
