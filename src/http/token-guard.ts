import { LRUCache } from 'lru-cache';
import { StatusError } from '../api/status.ts';
import { atMost } from './bound.ts';
import type { Bearer } from './operation.ts';
import { RateLimit } from './rate-limit.ts';

const refusalsPerMinute = 600;
/** As long as it is kept whose a token is (60 s), nothing comes this way; and then as long again. */
const acceptedMs = 120_000;
const maxAccepted = 20_000;

/**
 * Keeps a guesser from turning each token into a call to the API server. Counts the tokens that it refused per client network; beyond 600
 * a minute, tokens from there that were not accepted lately are 429 without being asked about. What the service verifies itself is never
 * refused here: others share the network with the guesser.
 */
export class TokenGuard {
  readonly #refusals: RateLimit;
  /** Hashes of tokens that were accepted: their owners share a network with the guesser, not his lot. */
  readonly #accepted = new LRUCache<string, true>({ ...atMost(maxAccepted), ttl: acceptedMs, ttlResolution: 0 });

  /** @param clock milliseconds that only ever grow */
  constructor(clock?: () => number) {
    this.#refusals = new RateLimit({ limit: refusalsPerMinute, what: 'refused tokens', ...(clock && { clock }) });
  }

  /**
   * Asks the API server about a token.
   *
   * @throws StatusError 429, or what `call` throws
   */
  async ask<T>(source: string, { hash: tokenHash, isVerified }: Bearer, call: () => Promise<T>): Promise<T> {
    if (isVerified) return call();
    if (!this.#accepted.has(tokenHash)) this.#refusals.requireRoom(source);
    try {
      const result = await call();
      this.#accepted.set(tokenHash, true);
      return result;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) {
        this.#accepted.delete(tokenHash);
        this.#refusals.take(source);
      }
      throw error;
    }
  }
}
