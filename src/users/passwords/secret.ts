import { z } from 'zod';
import { conflict } from '../../api/status.ts';
import type { ResourceType } from '../../kubernetes/resource.ts';
import { ServiceResource } from '../../kubernetes/resource-client.ts';
import { timestamp } from '../../kubernetes/timestamp.ts';
import type { Services } from '../../services.ts';
import { userApiVersion, userResource } from '../record/resource.ts';

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

interface NewHash {
  user: { name: string; uid: string };
  /** Result of `Passwords.hash`. */
  hash: string;
  changedAt: Date;
}

/** Returns the Secret with the password of a user. The owner reference deletes it with the user. `namespace`: `kubernetes.namespace`. */
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

export interface StoredHash {
  hash: string;
  /** Time of the password in RFC 3339; '' if it is unknown. A rehash of the same password keeps it. */
  changedAt: string;
  /** Version of the Secret. */
  resourceVersion: string;
}

/** Reads and writes the Secrets with the hashes, with the service account. */
export class PasswordSecrets {
  readonly #secrets: ServiceResource;
  readonly #namespace: string;

  constructor({ client, namespace }: Pick<Services, 'client' | 'namespace'>) {
    this.#secrets = new ServiceResource(client, { type: secrets, kind: 'Secret', namespace });
    this.#namespace = namespace;
  }

  /**
   * @returns undefined for a user without a password. The Secret of an earlier user of the name is ignored.
   * @throws StatusError 503, 504
   */
  async read({ name, uid }: { name: string; uid: string }, signal: AbortSignal): Promise<StoredHash | undefined> {
    const { success, data } = storedSecret.safeParse(await this.#secrets.find(secretName(name), signal));
    if (!success || !data.metadata.ownerReferences.some((owner) => owner.uid === uid)) return undefined;
    const { hash, changedAt } = data.data;
    return { hash: decode(hash), changedAt: decode(changedAt), resourceVersion: data.metadata.resourceVersion };
  }

  /** @returns false if a Secret of that name exists; @throws StatusError 503, 504 */
  async create(password: NewHash, signal: AbortSignal): Promise<boolean> {
    return (await this.#secrets.create(passwordSecret({ ...password, namespace: this.#namespace }), { signal })) !== 'conflict';
  }

  /** Creates the Secret, or replaces an existing one. @throws StatusError 409 if another request does so, too, 503, 504 */
  async put(password: NewHash, signal: AbortSignal): Promise<void> {
    if (await this.create(password, signal)) return;
    const { name } = password.user;
    const found = await this.#secrets.find(secretName(name), signal);
    if (found === undefined || found === 'notInstalled') throw changedMeanwhile(name);
    if (found.type !== secretType) throw new TypeError(`the Secret ${secretName(name)} holds no password`);
    const { data, metadata } = passwordSecret({ ...password, namespace: this.#namespace });
    const { resourceVersion } = found.metadata;
    await this.#patch(name, { metadata: { resourceVersion, ownerReferences: metadata.ownerReferences }, data }, signal);
  }

  /** Replaces the hash if the Secret is still that version. @throws StatusError 409, 503, 504 */
  async replaceHash(user: string, { hash, changedAt, resourceVersion }: StoredHash, signal: AbortSignal): Promise<void> {
    await this.#patch(user, { metadata: { resourceVersion }, data: { hash: encode(hash), changedAt: encode(changedAt) } }, signal);
  }

  async #patch(user: string, change: object, signal: AbortSignal): Promise<void> {
    const written = await this.#secrets.patch(secretName(user), change, { signal });
    if (written === 'conflict' || written === 'gone') throw changedMeanwhile(user);
  }
}

const changedMeanwhile = (user: string) => conflict(userResource, user, 'another request changed the password at the same time');
