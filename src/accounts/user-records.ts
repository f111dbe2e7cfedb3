import { setTimeout as sleep } from 'node:timers/promises';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { ApiCall, ServiceClient } from '../kubernetes/api-server.ts';
import { isKubernetesObject, type KubernetesObject, resourcePath } from '../kubernetes/resource.ts';
import { userResource } from './user-resource.ts';

/** More than any run of conflicts that ends: the lock of an account ends those of guesses, and people log in one after the other. */
const maxAttempts = 16;
const maxPauseMs = 20;

interface Patch {
  labels?: Record<string, string>;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** User records read and written with the service's own account. */
export class UserRecords {
  readonly #client: ServiceClient;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  /** @returns undefined if there is no such record, 'not-installed' if there are no records at all; @throws StatusError 503, 504 */
  async read(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined | 'not-installed'> {
    try {
      return userObjectOf(
        await this.#client.request({ method: 'GET', path: resourcePath(userResource, { name }), call: 'get users', signal }),
      );
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
      // The API server says so of an object; where it does not know the resource, it knows no name either.
      return error.status.details?.name === name ? undefined : 'not-installed';
    }
  }

  /** @returns undefined if there is one of that name already; @throws StatusError 503, 504 */
  create(object: { metadata: { name: string }; [member: string]: unknown }, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    return this.#write({ method: 'POST', path: resourcePath(userResource), body: object, call: 'create users', signal });
  }

  /**
   * Changes the record if it is still the version given; `null` removes a member. With `status`, nothing else may be given.
   *
   * @returns undefined if it is not; @throws StatusError 503, 504
   */
  patch({ metadata: { name, resourceVersion } }: KubernetesObject, { labels, ...parts }: Patch, signal: AbortSignal) {
    return this.#write({
      method: 'PATCH',
      path: resourcePath(userResource, { name, ...(parts.status && { subresource: 'status' }) }),
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion, ...(labels && { labels }) }, ...parts },
      call: parts.status ? 'patch users/status' : 'patch users',
      signal,
    });
  }

  /** Deletes that very version of the record; one that is gone already, or was written meanwhile, is left. @throws StatusError 503, 504 */
  async remove({ name, uid, resourceVersion }: KubernetesObject['metadata'], signal: AbortSignal): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    const path = resourcePath(userResource, { name });
    try {
      await this.#client.request({ method: 'DELETE', path, body, call: 'delete users', signal });
    } catch (error) {
      if (!isRefusal(error, 404, 409)) throw error;
    }
  }

  async #write(call: ApiCall): Promise<KubernetesObject | undefined> {
    try {
      return userObjectOf(await this.#client.request(call));
    } catch (error) {
      if (isRefusal(error, 404, 409)) return undefined;
      // What we wrote is our trouble, not that of the person who logs in.
      throw isRefusal(error, 400, 422) ? serviceUnavailable('kubernetes', { cause: error }) : error;
    }
  }
}

/**
 * Reads, decides and writes until no other writer was faster.
 *
 * @param attempt undefined if one was
 * @returns undefined when that goes on and on
 */
export async function untilUncontested<T>(attempt: () => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
  for (let left = maxAttempts; left > 0; left -= 1) {
    const result = await attempt();
    if (result !== undefined) return result;
    await sleep(Math.random() * maxPauseMs, undefined, { signal });
  }
  return undefined;
}

const isRefusal = (error: unknown, ...codes: number[]): error is StatusError =>
  error instanceof StatusError && codes.includes(error.status.code);

/** The User that the API server answered. @throws StatusError 503 for anything else */
export function userObjectOf(answer: unknown): KubernetesObject {
  if (!isKubernetesObject(answer)) throw serviceUnavailable('kubernetes', { cause: new Error('a User without its metadata') });
  return answer;
}
