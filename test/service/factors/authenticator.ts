/** A WebAuthn authenticator made of node:crypto: it keeps keys, counts signatures, and signs the client data of a browser. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { z } from 'zod';
import type { PageVisit } from '../identity/browser.ts';

const optionsSchema = z.object({
  challenge: z.string(),
  rpId: z.string().optional(),
  rp: z.object({ id: z.string(), name: z.string() }).optional(),
  user: z.object({ id: z.string(), name: z.string() }).optional(),
  userVerification: z.string().optional(),
  allowCredentials: z.array(z.object({ id: z.string() })).optional(),
  excludeCredentials: z.array(z.object({ id: z.string() })).optional(),
});

const flag = { present: 0x01, verified: 0x04, backupEligible: 0x08, backedUp: 0x10, attested: 0x40 } as const;

const unescaped = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** Returns the options for the script of the page. */
export const optionsIn = ({ body }: PageVisit) =>
  optionsSchema.parse(JSON.parse(unescaped(/data-options="([^"]*)"/.exec(body)?.[1] ?? 'null')));

/** Encodes the subset of CBOR (RFC 8949) that attestations need. */
function cbor(value: unknown): Buffer {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.from([(major << 5) | length]);
    if (length < 256) return Buffer.from([(major << 5) | 24, length]);
    return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
  };
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)]);
  throw new Error('no CBOR of that');
}

/** Deviations from a correct answer. */
export interface Lies {
  challenge?: string;
  origin?: string;
  type?: string;
  rpID?: string;
  /** Members of the client data. */
  framing?: { crossOrigin?: boolean; topOrigin?: string };
  isVerified?: boolean;
  isPresent?: boolean;
  isBackupEligible?: boolean;
  /** Undefined for an answer without a user handle. */
  userHandle?: string | undefined;
  count?: number;
  /** Key that signs instead of the passkey. */
  key?: KeyObject;
  id?: Buffer;
  format?: string;
}

export class Authenticator {
  readonly origin: string;
  /** Id of the credential. */
  readonly id = randomBytes(32);
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly isBackupEligible: boolean;
  userHandle: string | undefined;
  /** Signature counter at the next use; 0 for an authenticator without a counter. */
  count: number;

  constructor(origin: string, { count = 0, isBackupEligible = false } = {}) {
    this.origin = origin;
    this.count = count;
    this.isBackupEligible = isBackupEligible;
  }

  /** Returns the form value of a page that registers a passkey. */
  create(page: PageVisit, lies: Lies = {}): string {
    const { challenge, rp, user } = optionsIn(page);
    this.userHandle = user?.id;
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const key = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]);
    const id = lies.id ?? this.id;
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cbor(key)]);
    const authData = Buffer.concat([this.#head(rp?.id ?? '', lies, flag.attested), attested]);
    this.#countOn();
    const object = new Map<string, unknown>([
      ['fmt', lies.format ?? 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    const response = {
      clientDataJSON: this.#clientData('webauthn.create', challenge, lies).toString('base64url'),
      attestationObject: cbor(object).toString('base64url'),
      transports: ['internal', 'made-up'],
    };
    return this.#answer(id, response, { credProps: { rk: true } });
  }

  /** Returns the form value of a page that asks for a passkey. */
  get(page: PageVisit, lies: Lies = {}): string {
    const { challenge, rpId = '' } = optionsIn(page);
    const clientData = this.#clientData('webauthn.get', challenge, lies);
    const authData = this.#head(rpId, lies);
    this.#countOn();
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), lies.key ?? this.#keys.privateKey);
    const userHandle = 'userHandle' in lies ? lies.userHandle : this.userHandle;
    const response = {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      ...(userHandle !== undefined && { userHandle }),
    };
    return this.#answer(lies.id ?? this.id, response, {});
  }

  #countOn(): void {
    if (this.count > 0) this.count += 1;
  }

  #answer(id: Buffer, response: object, clientExtensionResults: object): string {
    const text = id.toString('base64url');
    return JSON.stringify({ id: text, rawId: text, type: 'public-key', response, clientExtensionResults });
  }

  #clientData(type: string, challenge: string, lies: Lies): Buffer {
    const said = { type: lies.type ?? type, challenge: lies.challenge ?? challenge, origin: lies.origin ?? this.origin };
    return Buffer.from(JSON.stringify({ ...said, crossOrigin: false, ...lies.framing }));
  }

  #head(rpID: string, lies: Lies, more = 0): Buffer {
    const { isVerified = true, isPresent = true, isBackupEligible = this.isBackupEligible, count = this.count } = lies;
    const bits = (isPresent ? flag.present : 0) | (isVerified ? flag.verified : 0) | (isBackupEligible ? flag.backupEligible : 0) | more;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(count);
    return Buffer.concat([sha256(lies.rpID ?? rpID), Buffer.from([bits]), counter]);
  }
}
