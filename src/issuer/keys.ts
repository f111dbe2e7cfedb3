import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet, errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import { z } from 'zod';
import type { IssuerClient } from './client.ts';
import { IssuerFault, issuerUnavailable } from './errors.ts';

/** Between two readings that a bearer token of an unknown key has caused: any client can send one with a made-up name. */
const coolDownMs = 30_000;
/** Between two readings that other tokens have caused, which wait for the next one: what cannot be told must not end anything. */
const pauseMs = 250;
/** Keys that the issuer has withdrawn go on counting for so long; while it is down they all do. */
const maxAgeMs = 600_000;
const retryAfterMs = 10_000;

/** RFC 7517 section 5. Keys of a kind or for a use that we do not know are passed over when a token is matched. */
const jwkSet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** The public keys of the issuer, from its `jwks_uri` and from nowhere else: never a key that a token brings or names. */
export class IssuerKeys {
  readonly #client: IssuerClient;
  readonly #clock: () => number;
  #keys: KeySet | undefined;
  #rereadAt = Number.NEGATIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;
  /** When the last reading began. */
  #beganAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<KeySet> | undefined;
  /** The reading that is to begin when the pause is over, for all who wait for it. */
  #next: Promise<KeySet> | undefined;

  /** @param clock milliseconds that only ever grow */
  constructor(client: IssuerClient, clock: () => number) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Verifies a token with the one key that fits, or with each of those that do. A key that is not known makes the set be read again:
   * for bearer tokens at once the first time, and then every thirty seconds at most; for all others by a budget of their own.
   *
   * @param whenUnread what to do with a token whose key is not known while the keys cannot be read again: refuse it (bearer tokens), or
   *   fail with 503 (tokens that something ends with if they are refused)
   * @throws jose's errors if the token does not hold; StatusError 503 if it cannot be verified
   */
  async verify(token: string, { whenUnread, ...options }: JWTVerifyOptions & { whenUnread: 'refuse' | 'fail' }): Promise<JWTVerifyResult> {
    // A reading that begins with this call is as young as the token.
    const isFresh = this.#keys === undefined && this.#reading === undefined;
    const keys = await this.#known();
    try {
      return await verifyWith(keys, token, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || isFresh) throw error;
      if (whenUnread === 'fail') return this.#verifyAgain(token, options);
      const newer = this.#mayReadAgain() ? await this.#read().catch(() => undefined) : undefined;
      if (newer === undefined) throw error;
      return verifyWith(newer, token, options);
    }
  }

  /**
   * With the keys of a reading that is under way, and with those of one that has begun after this call: the first may be older than the
   * token.
   *
   * @throws as `verify`
   */
  async #verifyAgain(token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
    const underWay = await this.#reading?.catch(() => undefined);
    try {
      if (underWay !== undefined) return await verifyWith(underWay, token, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    this.#next ??= this.#readAfterPause();
    return verifyWith(await this.#next, token, options);
  }

  async #readAfterPause(): Promise<KeySet> {
    await sleep(Math.max(0, this.#beganAt + pauseMs - this.#clock()));
    // Who comes from here on has a token that may be younger than the keys.
    this.#next = undefined;
    return this.#read();
  }

  /** Old keys go on while newer ones are read. */
  async #known(): Promise<KeySet> {
    if (this.#keys === undefined) return this.#read();
    if (this.#clock() > this.#rereadAt) this.#read().catch(() => undefined);
    return this.#keys;
  }

  /** Another request may be reading just now: then its keys serve all. */
  #mayReadAgain(): boolean {
    if (this.#reading !== undefined) return true;
    if (this.#clock() - this.#missedAt < coolDownMs) return false;
    this.#missedAt = this.#clock();
    return true;
  }

  /** @throws StatusError 503 */
  #read(): Promise<KeySet> {
    this.#reading ??= this.#fetch().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #fetch(): Promise<KeySet> {
    this.#beganAt = this.#clock();
    this.#rereadAt = this.#beganAt + retryAfterMs;
    const parsed = jwkSet.safeParse(await this.#client.fetchKeys());
    if (!parsed.success) throw issuerUnavailable(new IssuerFault('gave no set of keys'));
    this.#keys = createLocalJWKSet(parsed.data);
    this.#rereadAt = this.#clock() + maxAgeMs;
    return this.#keys;
  }
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** A token without `kid`, or a set with one `kid` twice, leaves several keys to try. */
async function verifyWith(keys: KeySet, token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult<JWTPayload>> {
  try {
    return await jwtVerify(token, keys, options);
  } catch (several) {
    if (!(several instanceof errors.JWKSMultipleMatchingKeys)) throw several;
    for await (const key of several) {
      try {
        return await jwtVerify(token, key, options);
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
