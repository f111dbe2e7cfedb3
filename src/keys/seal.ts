import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Encrypts and authenticates texts. The result is safe in URLs. */
export interface Seal {
  /** @throws StatusError 503 while there is no key */
  seal(text: string): string;
  /** Returns the text, undefined if `seal` did not make the given one. */
  open(sealed: string): Promise<string | undefined>;
}

/** A secret of at least 32 random bytes, and the key ID that texts sealed with it name. */
export interface SealKey {
  readonly kid: string;
  readonly secret: Uint8Array;
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Seals with one key: AES-256-GCM (NIST SP 800-38D), random nonce, as `<kid>.<base64url of nonce, text, tag>`. Each purpose has a key
 * derived by HKDF (RFC 5869), so that a text sealed for one purpose does not open for another.
 */
export class KeySeal {
  readonly #kid: string;
  readonly #key: Buffer;

  constructor({ kid, secret }: SealKey, purpose: string) {
    this.#kid = kid;
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', `atrium ${purpose}`, 32));
  }

  seal(text: string): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#key, iv).setAAD(Buffer.from(this.#kid));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${this.#kid}.${sealed.toString('base64url')}`;
  }

  /** Returns the text, undefined if it was not sealed with this key for this purpose, or was changed since. */
  open(sealed: string): string | undefined {
    const text = sealed.slice(this.#kid.length + 1);
    const bytes = Buffer.from(text, 'base64url');
    if (sealedWith(sealed) !== this.#kid || bytes.length < ivBytes + tagBytes || bytes.toString('base64url') !== text) return undefined;
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(this.#kid)).setAuthTag(bytes.subarray(-tagBytes));
    try {
      return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }
}

/** Returns the ID of the key that a text was sealed with. */
export const sealedWith = (sealed: string): string => sealed.slice(0, Math.max(0, sealed.indexOf('.')));
