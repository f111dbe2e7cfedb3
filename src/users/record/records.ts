import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type NewObject, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { userKind } from './schema.ts';

interface Patch {
  labels?: Record<string, string>;
  spec?: Record<string, unknown>;
}

/** Reads and writes User records with the service account. */
export class UserRecords {
  readonly #users: ServiceResource;

  constructor(client: ServiceClient) {
    this.#users = new ServiceResource(client, userKind);
  }

  /** @returns undefined if the record does not exist, 'notInstalled' if the resource is not installed; @throws StatusError 503, 504 */
  read(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined | 'notInstalled'> {
    return this.#users.find(name, signal);
  }

  /** Reads a record, and requires the resource. @throws StatusError 503, also if the resource is not installed, 504 */
  async readInstalled(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const found = await this.read(name, signal);
    if (found === 'notInstalled') throw serviceUnavailable('kubernetes', { cause: new Error('users are not installed') });
    return found;
  }

  /** @returns undefined if a record of that name exists; @throws StatusError 503, 504 */
  async create(object: NewObject, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const created = await this.#users.create(object, { signal });
    return created === 'conflict' ? undefined : created;
  }

  /**
   * Changes labels and spec of that version only; `null` removes a member.
   *
   * @returns undefined if the record has changed since
   * @throws StatusError 503, 504
   */
  async patch({ metadata: { name, resourceVersion } }: KubernetesObject, { labels, spec }: Patch, signal: AbortSignal) {
    const change = { metadata: { resourceVersion, ...(labels && { labels }) }, ...(spec && { spec }) };
    const written = await this.#users.patch(name, change, { signal });
    return written === 'conflict' || written === 'gone' ? undefined : written;
  }

  /**
   * Deletes that very version of the record.
   *
   * @returns false if the record is deleted already, or has changed
   * @throws StatusError 503, 504
   */
  remove({ name, uid, resourceVersion }: KubernetesObject['metadata'], signal: AbortSignal): Promise<boolean> {
    return this.#users.remove(name, { preconditions: { uid, resourceVersion }, signal });
  }
}
