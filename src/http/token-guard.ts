import { LRUCache } from 'lru-cache';
import { atMost } from './bound.ts';
import { StatusError, tooManyRequests } from './status.ts';

const windowMs = 60_000;
const refusalsPerWindow = 600;
const maxSources = 10_000;
const maxAccepted = 20_000;

/**
 * Keeps somebody who tries token after token from turning each into a call to the API server. Counts refused tokens per client
 * address; beyond 600 a minute, tokens from there that were not accepted lately are 429 without being asked about.
 */
export class TokenGuard {
  /** Refusals per client address; the count ends a minute after the first. */
  readonly #refusals = new LRUCache<string, { count: number }>({ ...atMost(maxSources), ttl: windowMs });
  /** Hashes of tokens that were accepted: their owners share an address with the guesser, not his lot. */
  readonly #accepted = new LRUCache<string, true>({ ...atMost(maxAccepted), ttl: windowMs });

  /**
   * Does what judges a token.
   *
   * @param tokenHash SHA-256 of the token
   * @throws StatusError 429, or what `judge` throws
   */
  async judge<T>(source: string, tokenHash: string, judge: () => Promise<T>): Promise<T> {
    const refusals = this.#refusals.get(source);
    if (refusals !== undefined && refusals.count >= refusalsPerWindow && !this.#accepted.has(tokenHash)) {
      throw tooManyRequests(
        'too many tokens from this address were refused, try again later',
        Math.ceil(this.#refusals.getRemainingTTL(source) / 1000),
      );
    }
    try {
      const result = await judge();
      this.#accepted.set(tokenHash, true);
      return result;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) {
        this.#accepted.delete(tokenHash);
        this.#count(source);
      }
      throw error;
    }
  }

  #count(source: string): void {
    const refusals = this.#refusals.get(source);
    if (refusals === undefined) this.#refusals.set(source, { count: 1 });
    else refusals.count += 1;
  }
}
