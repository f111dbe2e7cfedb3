/** Bounds of caches whose keys or values come from callers. */

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
const textBytes = (text = ''): number => bytesOfCharacter * text.length;

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
