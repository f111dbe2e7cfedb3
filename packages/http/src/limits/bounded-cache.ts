/** Bounds of caches whose keys or values come from callers. */
import { LRUCache } from 'lru-cache';

/**
 * Bounds an `LRUCache` by the number of its entries, as its `max` does, without taking the room for all of them at once: in a service
 * at rest that would be 8 MB of nothing. For entries of a fixed size, such as hashes.
 */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });

/** Bytes of an entry beside its text: the objects that it is made of. */
const entryBytes = 512;
/** Bytes of a character, unless all of a text are Latin-1. */
const bytesOfCharacter = 2;

/** Returns the bytes that a text takes at most. */
export const textBytes = (text = ''): number => bytesOfCharacter * text.length;

/**
 * Bounds an `LRUCache` by the bytes of its entries: 10,000 entries of 1 MiB are no bound. An entry that is larger than the bound is not
 * kept.
 *
 * @param bytesOf returns the bytes of a value beside its key
 */
export const atMostBytes = <V>(bytes: number, bytesOf: (value: V) => number) => ({
  maxSize: bytes,
  sizeCalculation: (value: V, key: string): number => entryBytes + textBytes(key) + bytesOf(value),
});

/** Shares equal values of many objects, found by their text, in bounded memory. Further values are kept once per object. */
export class SharedValues<V extends NonNullable<unknown>> {
  readonly #values: LRUCache<string, { value: V; bytes: number }>;

  constructor(maxBytes: number) {
    this.#values = new LRUCache(atMostBytes<{ value: V; bytes: number }>(maxBytes, ({ bytes }) => bytes));
  }

  /** Number of the shared values. */
  get size(): number {
    return this.#values.size;
  }

  /** Returns the shared value of a text, which is this one if there was none. */
  of(text: string, value: V): V {
    const known = this.#values.get(text);
    if (known !== undefined) return known.value;
    this.#values.set(text, { value, bytes: textBytes(text) });
    return value;
  }
}
