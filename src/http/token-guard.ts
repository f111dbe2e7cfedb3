import { LRUCache } from 'lru-cache';
import { atMost } from './bound.ts';
import { RateLimit } from './rate-limit.ts';
import { StatusError } from './status.ts';

const refusalsRateLimit = 600;
const acceptedMs = 60_000;
const maxAccepted = 20_000;

/**
 * Keeps a guesser from turning each token into a call to the API server. Counts refused tokens per client network; beyond 600 a minute,
 * tokens from there that were not accepted lately are 429 without being asked about.
 */
export class TokenGuard {
  readonly #refusals = new RateLimit({ limit: refusalsRateLimit, what: 'refused tokens' });
  /** Hashes of tokens that were accepted: their owners share a network with the guesser, not his lot. */
  readonly #accepted = new LRUCache<string, true>({ ...atMost(maxAccepted), ttl: acceptedMs });

  /**
   * Does what verifies a token.
   *
   * @param tokenHash SHA-256 of the token
   * @throws StatusError 429, or what `verify` throws
   */
  async judge<T>(source: string, tokenHash: string, verify: () => Promise<T>): Promise<T> {
    if (!this.#accepted.has(tokenHash)) this.#refusals.requireRoom(source);
    try {
      const result = await verify();
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
