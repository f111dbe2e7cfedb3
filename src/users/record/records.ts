import { setTimeout as sleep } from 'node:timers/promises';
import { serviceUnavailable } from '../../api/status.ts';
import type { ServiceClient } from '../../kubernetes/kubernetes-client.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import { type NewObject, ServiceResource } from '../../kubernetes/resource-client.ts';
import { userKind } from './resource.ts';

/** More than any run of conflicts that ends: the lock of an account ends those of guesses, and people log in one after the other. */
const maxAttempts = 16;
const maxPauseMs = 20;

interface Patch {
  labels?: Record<string, string>;
  spec?: Record<string, unknown>;
}

/** User records read and written with the service's own account. */
export class UserRecords {
  readonly #users: ServiceResource;

  constructor(client: ServiceClient) {
    this.#users = new ServiceResource(client, userKind);
  }

  /** @returns undefined if there is no such record, 'notInstalled' if there are no records at all; @throws StatusError 503, 504 */
  read(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined | 'notInstalled'> {
    return this.#users.find(name, signal);
  }

  /** The same, for what needs records. @throws StatusError 503 where the resource is not installed, too; 504 */
  async readInstalled(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const found = await this.read(name, signal);
    if (found === 'notInstalled') throw serviceUnavailable('kubernetes', { cause: new Error('users are not installed') });
    return found;
  }

  /** @returns undefined if there is one of that name already; @throws StatusError 503, 504 */
  async create(object: NewObject, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const created = await this.#users.create(object, { signal });
    return created === 'conflict' ? undefined : created;
  }

  /** Changes labels and spec of that version alone; `null` removes a member. @returns undefined if it has changed since; @throws StatusError 503, 504 */
  async patch({ metadata: { name, resourceVersion } }: KubernetesObject, { labels, spec }: Patch, signal: AbortSignal) {
    const change = { metadata: { resourceVersion, ...(labels && { labels }) }, ...(spec && { spec }) };
    const written = await this.#users.patch(name, change, { signal });
    return written === 'conflict' || written === 'gone' ? undefined : written;
  }

  /** Deletes that very version of the record. @returns false if it is gone already, or was written meanwhile; @throws StatusError 503, 504 */
  remove({ name, uid, resourceVersion }: KubernetesObject['metadata'], signal: AbortSignal): Promise<boolean> {
    return this.#users.remove(name, { preconditions: { uid, resourceVersion }, signal });
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
