import { LRUCache } from 'lru-cache';
import { atMostBytes } from './bounded-cache.ts';

interface Sized {
  readonly bytes: Uint8Array;
}

interface Kept {
  readonly bytes: number;
  evict(): void;
}

/** Bounds caches by the bytes of all of them together: with a bound of its own, each further cache would add to the memory. */
export class SharedBound {
  readonly #kept: LRUCache<string, Kept>;
  #caches = 0;

  constructor({ maxBytes, lifetimeMs }: { maxBytes: number; lifetimeMs: number }) {
    this.#kept = new LRUCache({
      ...atMostBytes<Kept>(maxBytes, ({ bytes }) => bytes),
      ttl: lifetimeMs,
      ttlResolution: 0,
      dispose: ({ evict }) => evict(),
      noDisposeOnSet: true,
    });
  }

  /** Number of the entries of all caches. */
  get size(): number {
    return this.#kept.size;
  }

  /** Returns a new cache, whose entries are evicted with those of the others. */
  cache<V extends Sized>(): BoundedCache<V> {
    const values = new Map<string, V>();
    this.#caches += 1;
    const cache = this.#caches;
    return {
      get: (key) => (this.#kept.get(`${cache} ${key}`) === undefined ? undefined : values.get(key)),
      set: (key, value) => {
        values.set(key, value);
        this.#kept.set(`${cache} ${key}`, { bytes: value.bytes.length, evict: () => values.delete(key) });
        // A value that is larger than the bound is not kept.
        if (!this.#kept.has(`${cache} ${key}`)) values.delete(key);
      },
    };
  }
}

export interface BoundedCache<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}
