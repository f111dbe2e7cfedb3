import { constants, createPrivateKey, createPublicKey, type KeyObject, privateDecrypt } from 'node:crypto';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { conflict } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import { userApiVersion, userResource } from '../record/schema.ts';

/** Size of the key, and so of an encrypted password. A text that decodes to this size is an envelope, because no password is that long. */
const envelopeBytes = 256;
const lifetimeSeconds = 300;
const rereadAfterMs = 60_000;

const content = z.strictObject({ ts: z.string().regex(/^\d{1,12}$/), password: z.string() });

/** Answer of `GET /auth/v1/pubkey`. */
export interface PublicKey {
  /** Expiry of an envelope that repeats it, in Unix seconds. */
  ts: string;
  /** PEM, SubjectPublicKeyInfo. */
  pubkey: string;
  /** Base64 of `pubkey`. */
  pubkey_encode: string;
  algorithms: ['RSA-OAEP-256'];
}

/**
 * Decrypts passwords that clients have encrypted with a key of the service: base64 of RSA-OAEP (RFC 8017, SHA-256) of
 * `{"ts":"…","password":"…"}`. PKCS #1 v1.5, which the runtime supports too, is not offered, because it is a padding oracle.
 */
export class PasswordEnvelopes {
  readonly #services: Services;
  #keys: { privateKeys: readonly KeyObject[]; pem: string } | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Returns the public key. @throws StatusError 503 while there are no keys */
  async publicKey(): Promise<PublicKey> {
    const { pem } = await this.#current();
    const ts = String(Math.floor(this.#services.now().getTime() / 1000) + lifetimeSeconds);
    return { ts, pubkey: pem, pubkey_encode: Buffer.from(pem).toString('base64'), algorithms: ['RSA-OAEP-256'] };
  }

  /** Reports whether a text is an envelope and cannot be a plain password. */
  isEnvelope(text: string): boolean {
    return this.#services.config.features.pubkey && decoded(text) !== undefined;
  }

  /** @returns the password, or undefined if the envelope is invalid for any reason; @throws StatusError 503 while there are no keys */
  async open(text: string): Promise<string | undefined> {
    const bytes = decoded(text);
    if (bytes === undefined) return undefined;
    const { privateKeys } = await this.#current();
    const plain = privateKeys.map((key) => decrypt(key, bytes)).find((found) => found !== undefined);
    const { success, data } = content.safeParse(plain);
    if (!success) return undefined;
    const left = Number(data.ts) - this.#services.now().getTime() / 1000;
    return left > 0 && left <= lifetimeSeconds ? data.password : undefined;
  }

  /** Reads the keys again if they are older than a minute, so that a rotation needs no restart. */
  async #current() {
    if (this.#keys === undefined || this.#services.clock() - this.#readAt > rereadAfterMs) {
      const privateKeys = (await this.#services.keyRing.passwordKeys()).map((key) => createPrivateKey({ key, format: 'jwk' }));
      const [first] = privateKeys;
      if (first === undefined) throw new RangeError('there is no key for passwords');
      this.#keys = { privateKeys, pem: createPublicKey(first).export({ type: 'spki', format: 'pem' }).toString() };
      this.#readAt = this.#services.clock();
    }
    return this.#keys;
  }
}

function decoded(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]{342}(==)?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === envelopeBytes ? bytes : undefined;
}

function decrypt(key: KeyObject, bytes: Buffer): unknown {
  try {
    const plain = privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, bytes);
    return JSON.parse(plain.toString());
  } catch {
    return undefined;
  }
}

const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };
const secretType = 'auth.platform.io/password';

/** Returns the name of the Secret with the password of a user, by the name of the record. */
export const secretName = (user: string) => `user-password-${user}`;
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
