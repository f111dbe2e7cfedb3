import { z } from 'zod';
import { StatusError } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { type ResourceType, resourcePath } from '../kubernetes/resource.ts';
import { timestamp } from './timestamp.ts';
import { userApiVersion } from './user-resource.ts';

const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };
const secretType = 'auth.platform.io/password';

const secretName = (user: string) => `user-password-${user}`;
const encode = (text: string) => Buffer.from(text).toString('base64');

const storedSecret = z.object({
  metadata: z.object({ resourceVersion: z.string(), ownerReferences: z.array(z.object({ uid: z.string() })).default([]) }),
  type: z.literal(secretType),
  data: z.object({ hash: z.base64() }),
});

/** The Secret that holds the password of a user; it goes when the user goes. `hash`: as `Passwords.hash` gives it. */
export function passwordSecret({
  user,
  namespace,
  hash,
  changedAt,
}: {
  user: { name: string; uid: string };
  /** `kubernetes.namespace` */
  namespace: string;
  hash: string;
  changedAt: Date;
}) {
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
    return { hash: Buffer.from(data.data.hash, 'base64').toString(), resourceVersion: data.metadata.resourceVersion };
  }

  /** Replaces the hash of an unchanged password, if the Secret is still that version. @throws StatusError 409, 503, 504 */
  async replaceHash(user: string, { hash, resourceVersion }: StoredHash, signal: AbortSignal): Promise<void> {
    await this.#options.client.request({
      method: 'PATCH',
      path: this.#path(user),
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion }, data: { hash: encode(hash) } },
      call: 'patch secrets',
      signal,
    });
  }

  #path(user: string): string {
    return resourcePath(secrets, { namespace: this.#options.namespace, name: secretName(user) });
  }
}
