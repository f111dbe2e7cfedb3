import { hkdfSync, randomBytes } from 'node:crypto';
import { runOutsideFlows } from '@atrium/http/limits/semaphore.ts';
import { RotatedSeal, type Seal, type SealKey, type SealKeys } from '@atrium/http/seal.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { isUnreachable } from '@atrium/kubernetes/upstream-error.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type AuditKeys, createAuditKeys, parseAuditKeys } from './audit-keys.ts';
import { createPasswordKeys, KeySecret, type PasswordKeys, parsePasswordKeys, type SecretContent } from './key-secret.ts';

/** Entries of the Secret. */
const sealEntry = 'seal.jwks';
const signingEntry = 'identity.jwks';
const passwordEntry = 'password.jwks';
const auditEntry = 'audit.jwks';

const makersOf = (newSigningKeys: typeof createSigningKeys) => ({
  [sealEntry]: async () =>
    JSON.stringify({ keys: [{ kty: 'oct', kid: randomBytes(6).toString('hex'), k: randomBytes(32).toString('base64url') }] }),
  [signingEntry]: async () => JSON.stringify({ keys: await newSigningKeys() }),
  [passwordEntry]: async () => JSON.stringify({ keys: await createPasswordKeys() }),
  [auditEntry]: async () => JSON.stringify({ keys: await createAuditKeys() }),
});
type Entry = keyof ReturnType<typeof makersOf>;

/** RFC 7517 section 5 and RFC 7518 section 6.4; `k` is 32 bytes. */
const sealKeySet = z.object({
  keys: z
    .array(z.object({ kty: z.literal('oct'), kid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), k: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }))
    .min(1),
});

const rereadAfterMs = 10_000;
const retryAfterMs = 2_000;

interface KeyRingOptions {
  client: ServiceClient;
  namespace: string;
  /** Name of the Secret. */
  secretName: string;
  log: Logger;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
  /** Creates keys of the embedded issuer. */
  newSigningKeys?: typeof createSigningKeys | undefined;
}

/**
 * Secret keys that all replicas share: each replica opens and verifies the texts that another one sealed or signed.
 *
 * The keys are stored in a Secret, which the first replica creates and the others read. Its entry `seal.jwks` is a JWK Set (RFC 7517) of
 * symmetric keys, `{"keys":[{"kty":"oct","kid":"…","k":"<32 bytes, base64url>"}]}`. The first key seals; every key opens. To rotate,
 * append a new key, wait until all replicas have read it, then move it to the front, and keep its predecessor behind it while texts sealed
 * with it are in use. A text sealed with an unknown key makes a replica read the Secret again, at most every ten seconds. The entry
 * `identity.jwks` holds the private keys of the embedded issuer, `password.jwks` the keys that browsers encrypt passwords for, and
 * `audit.jwks` those that sign checkpoints of the audit; they are rotated in the same way. Other entries of the Secret and further members
 * of a sealing key are ignored, and kept.
 */
export class KeyRing {
  readonly #secret: KeySecret;
  readonly #makers: ReturnType<typeof makersOf>;
  readonly #options: KeyRingOptions;
  readonly #stopped = new AbortController();
  readonly #keys: SealKeys = { current: [], reread: () => this.#reread() };
  #content: SecretContent | undefined;
  #reading: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #retry: NodeJS.Timeout | undefined;
  #failure: string | undefined = 'not read yet';

  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#makers = makersOf(options.newSigningKeys ?? createSigningKeys);
    this.#secret = new KeySecret(options.client, options.namespace, options.secretName);
  }

  /** Reads or creates the Secret, and retries until it succeeds. */
  start(): void {
    void this.#read().then(() => {
      if (this.#keys.current.length === 0 && !this.#stopped.signal.aborted) this.#retry = setTimeout(() => this.start(), retryAfterMs);
    });
  }

  stop(): void {
    clearTimeout(this.#retry);
    this.#stopped.abort(new Error('the service stops'));
  }

  /** Returns the reason why there are no keys, undefined if there are keys. */
  failure(): string | undefined {
    return this.#keys.current.length > 0 ? undefined : this.#failure;
  }

  /** Waits for the read in progress if there are no keys yet. Right after the start it is about to succeed. */
  async settled(): Promise<void> {
    if (this.#keys.current.length === 0) await this.#reading;
  }

  /** Returns a seal for one purpose. A text sealed for another purpose does not open. */
  sealFor(purpose: string): Seal {
    return new RotatedSeal(this.#keys, purpose);
  }

  /**
   * Returns the private keys of the embedded issuer, RS256 and ES256, and adds them to a Secret without them. Reads the Secret first; if
   * that fails, uses the content that was read before.
   *
   * @throws StatusError 503 if the Secret was never read, cannot be completed, or holds an invalid key set
   */
  signingKeys(): Promise<SigningKeys> {
    return this.#keysIn(signingEntry, parseSigningKeys);
  }

  /**
   * Returns the private keys that passwords are encrypted for, in the same way. The public half of the first one is published.
   *
   * @throws StatusError 503
   */
  passwordKeys(): Promise<PasswordKeys> {
    return this.#keysIn(passwordEntry, parsePasswordKeys);
  }

  /**
   * Returns the private keys of checkpoints of the audit, in the same way. The first one signs; all verify.
   *
   * @throws StatusError 503
   */
  auditKeys(): Promise<AuditKeys> {
    return this.#keysIn(auditEntry, parseAuditKeys);
  }

  /**
   * Returns keys for cookies that are signed and not sealed: the first one signs, every key verifies.
   *
   * @throws StatusError 503 if there are none
   */
  async cookieKeys(): Promise<readonly string[]> {
    await this.#freshContent();
    return this.#keys.current.map(({ secret }) =>
      Buffer.from(hkdfSync('sha256', secret, '', 'atrium cookie signatures', 32)).toString('base64url'),
    );
  }

  async #keysIn<T>(entry: Entry, parse: (text: string) => T): Promise<T> {
    const content = await this.#freshContent();
    try {
      const { entries } = await this.#completed(content, entry);
      return parse(entries[entry] ?? '');
    } catch (error) {
      // Messages of parsers quote their input, here the keys.
      throw serviceUnavailable('kubernetes', { cause: error instanceof StatusError ? error : new Error(unusable(entry)) });
    }
  }

  async #freshContent(): Promise<SecretContent> {
    await this.#read();
    if (this.#content === undefined) throw serviceUnavailable('kubernetes', { cause: new Error(`the key ring: ${this.#failure}`) });
    return this.#content;
  }

  /** Reads the Secret again at most every ten seconds, because key IDs can be forged. */
  async #reread(): Promise<void> {
    const clock = this.#options.clock ?? (() => performance.now());
    if (clock() - this.#readAt < rereadAfterMs) return;
    this.#readAt = clock();
    await this.#read();
  }

  /** Reads the Secret. Never rejects: known keys stay, and `failure` and the log report the error. */
  #read(): Promise<void> {
    this.#reading ??= runOutsideFlows(() => this.#readOrCreate())
      .catch((error: unknown) => {
        const isNews = this.#failure !== describe(error);
        this.#failure = describe(error);
        // The connections log that the API server cannot be reached, once.
        if (this.#stopped.signal.aborted || !isNews || isUnreachable(error)) return;
        this.#options.log.warn({ secret: this.#options.secretName, failure: this.#failure }, 'key ring could not be read');
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #readOrCreate(): Promise<void> {
    const found = await this.#secret.getOrCreate(() => this.#newEntries(), this.#stopped.signal);
    const content = await this.#completed(found, sealEntry);
    this.#keys.current = parseSealKeys(content.entries[sealEntry] ?? '');
    this.#content = content;
    this.#failure = undefined;
  }

  /** Returns the entries of a new Secret. Password keys are added on first use, because an installation may never need them. */
  async #newEntries() {
    return { [sealEntry]: await this.#makers[sealEntry](), [signingEntry]: await this.#makers[signingEntry]() };
  }

  /** Returns content that has the entry, and adds the entry to a Secret of an older release. */
  async #completed(content: SecretContent, entry: Entry): Promise<SecretContent> {
    if (content.entries[entry] !== undefined) return content;
    return this.#secret.add({ [entry]: await this.#makers[entry]() }, content, this.#stopped.signal);
  }
}

const parseSealKeys = (text: string): SealKey[] =>
  sealKeySet.parse(JSON.parse(text)).keys.map(({ kid, k }) => ({ kid, secret: Buffer.from(k, 'base64url') }));

const unusable = (entry: string) => `the Secret holds no set of keys in ${entry}`;

/** Describes an error for `/readyz` by code and reason, without names. */
function describe(error: unknown): string {
  if (!(error instanceof StatusError)) return unusable(sealEntry);
  const { status } = error.cause instanceof StatusError ? error.cause : error;
  return `${status.code} ${status.reason ?? ''}`.trim();
}

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);
const shared = { kid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), use: z.literal('sig'), d: base64url };

/** RFC 7517 section 5 and RFC 7518 sections 6.2 and 6.3: private keys, at least one for each algorithm. */
const jwkSet = z.object({
  keys: z
    .array(
      z.discriminatedUnion('kty', [
        z.object({
          ...shared,
          kty: z.literal('RSA'),
          alg: z.literal('RS256'),
          n: base64url,
          e: base64url,
          p: base64url,
          q: base64url,
          dp: base64url,
          dq: base64url,
          qi: base64url,
        }),
        z.object({ ...shared, kty: z.literal('EC'), alg: z.literal('ES256'), crv: z.literal('P-256'), x: base64url, y: base64url }),
      ]),
    )
    .refine((keys) => ['RSA', 'EC'].every((kty) => keys.some((key) => key.kty === kty)), 'needs an RS256 and an ES256 key'),
});

/** Private keys. The first key of each algorithm signs; the keys behind it verify earlier signatures. */
export type SigningKeys = readonly JWK[];

/** Creates an RSA key of 2048 bits and a P-256 key outside the event loop. */
export async function createSigningKeys(): Promise<SigningKeys> {
  return Promise.all(
    ['RS256', 'ES256'].map(async (alg) => {
      const { privateKey } = await generateKeyPair(alg, { modulusLength: 2048, extractable: true });
      const jwk = await exportJWK(privateKey);
      return { ...jwk, alg, use: 'sig', kid: await calculateJwkThumbprint(jwk) };
    }),
  );
}

/** @throws SyntaxError, ZodError */
const parseSigningKeys = (text: string): SigningKeys => jwkSet.parse(JSON.parse(text)).keys;
