import { setTimeout as sleep } from 'node:timers/promises';
import { runOutsideFlows } from '@atrium/http/limits/semaphore.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { type CompactVerifyGetKey, type CompactVerifyResult, compactVerify, createLocalJWKSet, decodeProtectedHeader, errors } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { IssuerDiscovery } from './discovery.ts';
import { IssuerFault, issuerUnavailable } from './errors.ts';
import { type IssuerFetch, isInsecure, withoutEmpty } from './fetch.ts';

/** Minimum time between two reads for bearer tokens that no known key verifies: any client can make up a key id or a signature. */
const coolDownMs = 30_000;
/** Minimum time between two reads for other tokens, which wait for the next read: a refused token would end a login. */
const pauseMs = 250;
/** Keys that the issuer has withdrawn remain valid for this time. All keys remain valid while the issuer is down. */
const maxAgeMs = 600_000;
const retryAfterMs = 10_000;
/** Length of a key id in the log. */
const maxShownLength = 64;

/** RFC 7517 section 5. Entries that are no keys are ignored, and so are keys of an unknown type or use when a token is matched. */
const jwkSet = z.object({
  keys: z.array(z.unknown()).transform((keys) => keys.flatMap((key) => jwk.safeParse(isRecord(key) ? withoutEmpty(key) : key).data ?? [])),
});
const jwk = z.looseObject({ kty: z.string() }).transform(asVerificationKey);

/** Algorithms of a token, and the policy for a token that no known key verifies while the keys cannot be read. */
interface Verification {
  readonly algorithms: readonly string[];
  /** `refuse`: 401 (bearer tokens). `fail`: 503 (tokens whose refusal would end a login). */
  readonly ifUnread: 'refuse' | 'fail';
}

/** The public keys of the issuer, from its `jwks_uri` only: never a key that a token contains or refers to. */
export class IssuerKeys {
  readonly #log: Logger;
  readonly #issuer: string;
  readonly #discovery: IssuerDiscovery;
  readonly #http: IssuerFetch;
  readonly #clock: () => number;
  #keys: KeySet | undefined;
  /** Keys about whose reused ids administrators were told. */
  #told: KeySet | undefined;
  #rereadAt = Number.NEGATIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;
  /** Start of the last read. */
  #beganAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<KeySet> | undefined;
  /** Read that begins after the pause, shared by all waiting callers. */
  #next: Promise<KeySet> | undefined;

  constructor(
    { log, clock }: { log: Logger; clock: () => number },
    { issuer, discovery, fetch }: { issuer: string; discovery: IssuerDiscovery; fetch: IssuerFetch },
  ) {
    this.#log = log;
    this.#issuer = issuer;
    this.#discovery = discovery;
    this.#http = fetch;
    this.#clock = clock;
  }

  /**
   * Verifies the signature of a token with the matching key, or with each of several. A token that no known key verifies triggers another
   * read of the key set, because issuers change keys, some without changing the key id: for bearer tokens at once the first time and then
   * every thirty seconds at most; for other tokens under a separate limit.
   *
   * @throws jose's errors if the token is not valid; StatusError 503 if it cannot be verified
   */
  async verify(token: string, { algorithms, ifUnread }: Verification): Promise<CompactVerifyResult> {
    // A read that begins with this call is as recent as the token.
    const isFresh = this.#keys === undefined && this.#reading === undefined;
    const keys = await this.#known();
    try {
      return await verifyWith(keys, token, algorithms);
    } catch (error) {
      if (!isOfKeys(error) || isFresh) throw error;
      const verified = await (ifUnread === 'fail'
        ? this.#verifyAgain(token, algorithms)
        : this.#verifyIfNewer(token, algorithms, { keys, error }));
      if (!(error instanceof errors.JWKSNoMatchingKey)) this.#tellOfReusedID(token);
      return verified;
    }
  }

  /** Verifies a bearer token with newer keys, if there are any or they can be read. @throws the given error otherwise */
  async #verifyIfNewer(
    token: string,
    algorithms: readonly string[],
    failed: { keys: KeySet; error: unknown },
  ): Promise<CompactVerifyResult> {
    // Another caller may have read keys while this signature was verified.
    const isOutdated = this.#keys !== failed.keys;
    const newer = isOutdated ? this.#keys : this.#mayReadAgain() ? await this.#read().catch(() => undefined) : undefined;
    if (newer === undefined) throw failed.error;
    return verifyWith(newer, token, algorithms);
  }

  /**
   * Verifies with the keys of a read in progress, and then with the keys of a read that begins after this call: the first may be older than
   * the token.
   *
   * @throws as `verify`
   */
  async #verifyAgain(token: string, algorithms: readonly string[]): Promise<CompactVerifyResult> {
    const underWay = await this.#reading?.catch(() => undefined);
    try {
      if (underWay !== undefined) return await verifyWith(underWay, token, algorithms);
    } catch (error) {
      if (!isOfKeys(error)) throw error;
    }
    this.#next ??= this.#readAfterPause();
    return verifyWith(await this.#next, token, algorithms);
  }

  /** Tells administrators once for each key set: other verifiers, such as the API server, may keep the old key for longer. */
  #tellOfReusedID(token: string): void {
    if (this.#told === this.#keys) return;
    this.#told = this.#keys;
    const { kid } = decodeProtectedHeader(token);
    this.#log.warn(
      { issuer: this.#issuer, ...(kid && { kid: String(kid).slice(0, maxShownLength) }) },
      'identity provider changed a key without changing its key id (kid): let it publish each new key under a new kid',
    );
  }

  async #readAfterPause(): Promise<KeySet> {
    await sleep(Math.max(0, this.#beganAt + pauseMs - this.#clock()));
    // Later callers may have a token that is newer than the keys of this read.
    this.#next = undefined;
    return this.#read();
  }

  /** Returns the known keys, and starts a read that is due in the background. */
  async #known(): Promise<KeySet> {
    if (this.#keys === undefined) return this.#read();
    if (this.#clock() > this.#rereadAt) this.#read().catch(() => undefined);
    return this.#keys;
  }

  /** Allows a read after the cool-down. A read in progress serves all callers. */
  #mayReadAgain(): boolean {
    if (this.#reading !== undefined) return true;
    if (this.#clock() - this.#missedAt < coolDownMs) return false;
    this.#missedAt = this.#clock();
    return true;
  }

  /** @throws StatusError 503 */
  #read(): Promise<KeySet> {
    this.#reading ??= runOutsideFlows(() => this.#fetch()).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #fetch(): Promise<KeySet> {
    this.#beganAt = this.#clock();
    this.#rereadAt = this.#beganAt + retryAfterMs;
    const parsed = jwkSet.safeParse(await this.#published());
    if (!parsed.success) throw issuerUnavailable(new IssuerFault('gave no set of keys'));
    this.#keys = createLocalJWKSet(parsed.data);
    this.#rereadAt = this.#clock() + maxAgeMs;
    return this.#keys;
  }

  /** Returns the published keys, without validation. @throws StatusError 503 */
  async #published(): Promise<unknown> {
    const { jwks_uri: url, issuer } = await this.#discovery.metadata();
    try {
      if (url === undefined || (isInsecure(url) && !isInsecure(issuer))) throw new IssuerFault('names no safe place of its keys');
      const headers = { accept: 'application/json, application/jwk-set+json' };
      const { status, text } = await this.#http.send(url, { headers, signal: neverAborts });
      if (status !== 200) throw new IssuerFault(`answered ${status} instead of its keys`);
      return JSON.parse(text);
    } catch (error) {
      throw issuerUnavailable(error);
    }
  }
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Reduces `key_ops` of a signing key to what its public half can do, because issuers export keys that sign. The API server ignores them. */
function asVerificationKey<T extends Record<string, unknown>>(key: T): T {
  const { key_ops: operations } = key;
  const signs = Array.isArray(operations) && operations.some((one) => one === 'sign' || one === 'verify');
  return signs ? { ...key, key_ops: ['verify'] } : key;
}

/**
 * Reports whether the keys are the reason of a failure: none matches, the signature is of another key, or the key is unusable. Other errors
 * of jose concern the token.
 */
const isOfKeys = (error: unknown): boolean =>
  !(error instanceof errors.JOSEError) ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JWKSInvalid;

/** Tries several keys if the token has no `kid`, or the set has a `kid` twice. */
async function verifyWith(keys: KeySet, token: string, algorithms: readonly string[]): Promise<CompactVerifyResult> {
  const options = { algorithms: [...algorithms] };
  const keyOf: CompactVerifyGetKey = (header, jws) => keys({ ...withoutEmpty({ ...header }), alg: header.alg }, jws);
  try {
    return await compactVerify(token, keyOf, options);
  } catch (several) {
    if (!(several instanceof errors.JWKSMultipleMatchingKeys)) throw several;
    for await (const key of several) {
      try {
        return await compactVerify(token, key, options);
      } catch (error) {
        if (!isOfKeys(error)) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
