import { constants, createPrivateKey, createPublicKey, type KeyObject, privateDecrypt } from 'node:crypto';
import { z } from 'zod';
import type { Services } from '../../services.ts';

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
