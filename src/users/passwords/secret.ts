import { z } from 'zod';
import { StatusError } from '../../api/status.ts';
import type { ServiceClient } from '../../kubernetes/api-server.ts';
import { type ResourceType, resourcePath } from '../../kubernetes/resource.ts';
import { timestamp } from '../../kubernetes/timestamp.ts';
import { userApiVersion } from '../record/resource.ts';

const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };
const secretType = 'auth.platform.io/password';

const secretName = (user: string) => `user-password-${user}`;
const encode = (text: string) => Buffer.from(text).toString('base64');
const decode = (base64: string) => Buffer.from(base64, 'base64').toString();

const storedSecret = z.object({
  metadata: z.object({ resourceVersion: z.string(), ownerReferences: z.array(z.object({ uid: z.string() })).default([]) }),
  type: z.literal(secretType),
  data: z.object({ hash: z.base64(), changedAt: z.base64().default('') }),
});

const storedVersion = z.object({ metadata: z.object({ resourceVersion: z.string() }), type: z.literal(secretType) });

interface NewHash {
  user: { name: string; uid: string };
  /** As `Passwords.hash` gives it. */
  hash: string;
  changedAt: Date;
}

/** The Secret that holds the password of a user; it goes when the user goes. `namespace`: `kubernetes.namespace`. */
export function passwordSecret({ user, namespace, hash, changedAt }: NewHash & { namespace: string }) {
  const owner = { apiVersion: userApiVersion, kind: 'User', name: user.name, uid: user.uid };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName(user.name), namespace, ownerReferences: [owner] },
    type: secretType,
    data: { hash: encode(hash), changedAt: encode(timestamp(changedAt)) },
  };
}

interface PasswordSecretOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
}

export interface StoredHash {
  hash: string;
  /** RFC 3339; '' if it is not known. Another hash of the same password leaves it as it is. */
  changedAt: string;
  /** Of the Secret. */
  resourceVersion: string;
}

/** The Secrets with the hashes, read and written with the service's own account. */
export class PasswordSecrets {
  readonly #options: PasswordSecretOptions;

  constructor(options: PasswordSecretOptions) {
    this.#options = options;
  }

  /** @returns undefined for a user without one: that of a user who had the name before does not count; @throws StatusError 503, 504 */
  async read({ name, uid }: { name: string; uid: string }, signal: AbortSignal): Promise<StoredHash | undefined> {
    const { client } = this.#options;
    let answer: unknown;
    try {
      answer = await client.request({ method: 'GET', path: this.#path(name), call: 'get secrets', signal });
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return undefined;
      throw error;
    }
    const { success, data } = storedSecret.safeParse(answer);
    if (!success || !data.metadata.ownerReferences.some((owner) => owner.uid === uid)) return undefined;
    const { hash, changedAt } = data.data;
    return { hash: decode(hash), changedAt: decode(changedAt), resourceVersion: data.metadata.resourceVersion };
  }

  /** @returns whether it was: false if there is a Secret of that name already; @throws StatusError 503, 504 */
  async create(password: NewHash, signal: AbortSignal): Promise<boolean> {
    const { client, namespace } = this.#options;
    const body = passwordSecret({ ...password, namespace });
    try {
      await client.request({ method: 'POST', path: resourcePath(secrets, { namespace }), body, call: 'create secrets', signal });
      return true;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 409) return false;
      throw error;
    }
  }

  /** Creates it, or puts it in the place of whatever is there. @throws StatusError 409 if another request does so too, 503, 504 */
  async put(password: NewHash, signal: AbortSignal): Promise<void> {
    if (await this.create(password, signal)) return;
    const { client, namespace } = this.#options;
    const path = this.#path(password.user.name);
    const { metadata } = storedVersion.parse(await client.request({ method: 'GET', path, call: 'get secrets', signal }));
    const { data, metadata: given } = passwordSecret({ ...password, namespace });
    const body = { metadata: { resourceVersion: metadata.resourceVersion, ownerReferences: given.ownerReferences }, data };
    await client.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body, call: 'patch secrets', signal });
  }

  /** Replaces the hash if the Secret is still that version. @throws StatusError 409, 503, 504 */
  async replaceHash(user: string, { hash, changedAt, resourceVersion }: StoredHash, signal: AbortSignal): Promise<void> {
    await this.#options.client.request({
      method: 'PATCH',
      path: this.#path(user),
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion }, data: { hash: encode(hash), changedAt: encode(changedAt) } },
      call: 'patch secrets',
      signal,
    });
  }

  #path(user: string): string {
    return resourcePath(secrets, { namespace: this.#options.namespace, name: secretName(user) });
  }
}
