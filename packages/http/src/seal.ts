import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { serviceUnavailable } from '@atrium/objects/status.ts';

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

/** The known keys. Empty until they have been read. */
export interface SealKeys {
  current: readonly SealKey[];
  /** Reads the keys again, for a text that names none of them. */
  readonly reread: () => Promise<void>;
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
const sealedWith = (sealed: string): string => sealed.slice(0, Math.max(0, sealed.indexOf('.')));

/** Seals with the first key, and opens with each of them. */
export class RotatedSeal implements Seal {
  readonly #keys: SealKeys;
  readonly #purpose: string;
  #derivedFrom: SealKeys['current'] = [];
  #seals: readonly KeySeal[] = [];

  constructor(keys: SealKeys, purpose: string) {
    this.#keys = keys;
    this.#purpose = purpose;
  }

  seal(text: string): string {
    const [first] = this.#current();
    if (first === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('no key for sealing was found') });
    return first.seal(text);
  }

  async open(sealed: string): Promise<string | undefined> {
    const kid = sealedWith(sealed);
    if (!this.#keys.current.some((key) => key.kid === kid)) await this.#keys.reread();
    const seals = this.#current();
    if (seals.length === 0) throw serviceUnavailable('kubernetes', { cause: new Error('no key for opening was found') });
    for (const seal of seals) {
      const text = seal.open(sealed);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  #current(): readonly KeySeal[] {
    const { current } = this.#keys;
    if (this.#derivedFrom !== current) this.#seals = current.map((key) => new KeySeal(key, this.#purpose));
    this.#derivedFrom = current;
    return this.#seals;
  }
}
