import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet, errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import { z } from 'zod';
import { neverAborts } from '../kubernetes/deadline.ts';
import { runOutsideFlows } from '../limits/flow.ts';
import type { IssuerDiscovery } from './discovery.ts';
import { IssuerFault, issuerUnavailable } from './errors.ts';
import { type IssuerFetch, isInsecure } from './fetch.ts';

/** Minimum time between two reads for bearer tokens with an unknown key: any client can make up the name of a key. */
const coolDownMs = 30_000;
/** Minimum time between two reads for other tokens, which wait for the next read: a refused token would end a login. */
const pauseMs = 250;
/** Keys that the issuer has withdrawn remain valid for this time. All keys remain valid while the issuer is down. */
const maxAgeMs = 600_000;
const retryAfterMs = 10_000;

/** RFC 7517 section 5. Keys of an unknown type or use are ignored when a token is matched. */
const jwkSet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** The public keys of the issuer, from its `jwks_uri` only: never a key that a token contains or refers to. */
export class IssuerKeys {
  readonly #discovery: IssuerDiscovery;
  readonly #http: IssuerFetch;
  readonly #clock: () => number;
  #keys: KeySet | undefined;
  #rereadAt = Number.NEGATIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;
  /** Start of the last read. */
  #beganAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<KeySet> | undefined;
  /** Read that begins after the pause, shared by all waiting callers. */
  #next: Promise<KeySet> | undefined;

  /** @param clock monotonic, in milliseconds */
  constructor(discovery: IssuerDiscovery, fetch: IssuerFetch, clock: () => number) {
    this.#discovery = discovery;
    this.#http = fetch;
    this.#clock = clock;
  }

  /**
   * Verifies a token with the matching key, or with each of several. An unknown key triggers another read of the key set: for bearer tokens
   * at once the first time and then every thirty seconds at most; for other tokens under a separate limit.
   *
   * @param whenUnread policy for a token with an unknown key while the keys cannot be read: refuse it (bearer tokens), or fail with 503
   *   (tokens whose refusal would end a login)
   * @throws jose's errors if the token is not valid; StatusError 503 if it cannot be verified
   */
  async verify(token: string, { whenUnread, ...options }: JWTVerifyOptions & { whenUnread: 'refuse' | 'fail' }): Promise<JWTVerifyResult> {
    // A read that begins with this call is as recent as the token.
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
   * Verifies with the keys of a read in progress, and then with the keys of a read that begins after this call: the first may be older than
   * the token.
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

/** Tries several keys if the token has no `kid`, or the set has a `kid` twice. */
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
