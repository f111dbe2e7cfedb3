/**
 * Bounds an `LRUCache` by the number of its entries, as its `max` does, without taking the room for all of them at once: in a service
 * at rest that would be 8 MB of nothing.
 */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
