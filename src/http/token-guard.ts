import { LRUCache } from 'lru-cache';
import { StatusError } from '../api/status.ts';
import { atMost } from '../limits/eviction-queue.ts';
import { RateLimit } from '../limits/rate-limit.ts';
import type { Bearer } from './operation.ts';

const refusalsPerMinute = 600;
/** Twice the time for which the owner of a token is cached (60 s): cached tokens do not come this way. */
const acceptedMs = 120_000;
const maxAccepted = 20_000;

/**
 * Keeps clients that guess tokens from causing a call to the API server for each guess. Counts refused tokens per client network. Beyond
 * 600 a minute, tokens from there that were not accepted lately are 429 without a call. Tokens that the service verifies itself are
 * never refused here, because other clients share the network.
 */
export class TokenGuard {
  readonly #refusals: RateLimit;
  /** Hashes of accepted tokens, whose owners may share the network with a client that guesses. */
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
