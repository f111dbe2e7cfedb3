import { LRUCache } from 'lru-cache';
import { atMostBytes } from './bounded-cache.ts';

interface Sized {
  readonly bytes: Uint8Array;
}

/** Bounds caches by the bytes of all of them together: with a bound of its own, each further cache would add to the memory. */
export class SharedBound {
  readonly #kept: LRUCache<string, Sized>;
  #caches = 0;

  constructor({ maxBytes, lifetimeMs }: { maxBytes: number; lifetimeMs: number }) {
    this.#kept = new LRUCache({ ...atMostBytes<Sized>(maxBytes, ({ bytes }) => bytes.length), ttl: lifetimeMs, ttlResolution: 0 });
  }

  /** Number of the entries of all caches. */
  get size(): number {
    return this.#kept.size;
  }

  /** Returns a new cache, whose entries are evicted with those of the others. */
  cache<V extends Sized>(): BoundedCache<V> {
    this.#caches += 1;
    const cache = this.#caches;
    return {
      // Only this cache sets values below its number.
      get: (key) => this.#kept.get(`${cache} ${key}`) as V | undefined,
      set: (key, value) => void this.#kept.set(`${cache} ${key}`, value),
    };
  }
}

export interface BoundedCache<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}
