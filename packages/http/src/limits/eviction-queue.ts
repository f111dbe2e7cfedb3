export interface EvictionBounds {
  perNetwork: number;
  inAll: number;
}

/** Entries that wait for clients. Beyond a bound the oldest entry of the same network is evicted, and else the oldest of all. */
export class EvictionQueue<T extends { readonly network: string }> {
  readonly #bounds: EvictionBounds;
  readonly #evict: (entry: T) => void;
  readonly #all = new Set<T>();
  readonly #byNetwork = new Map<string, Set<T>>();

  /** @param evict is called once the entry is removed */
  constructor(bounds: EvictionBounds, evict: (entry: T) => void) {
    this.#bounds = bounds;
    this.#evict = evict;
  }

  add(entry: T): void {
    const ofNetwork = this.#byNetwork.get(entry.network) ?? new Set();
    this.#byNetwork.set(entry.network, ofNetwork);
    ofNetwork.add(entry);
    this.#all.add(entry);
    if (ofNetwork.size > this.#bounds.perNetwork) this.#evictFirst(ofNetwork);
    if (this.#all.size > this.#bounds.inAll) this.#evictFirst(this.#all);
  }

  /** @returns whether the queue had the entry */
  remove(entry: T): boolean {
    if (!this.#all.delete(entry)) return false;
    const ofNetwork = this.#byNetwork.get(entry.network);
    ofNetwork?.delete(entry);
    if (ofNetwork?.size === 0) this.#byNetwork.delete(entry.network);
    return true;
  }

  #evictFirst(oldestFirst: Iterable<T>): void {
    for (const entry of oldestFirst) {
      this.remove(entry);
      this.#evict(entry);
      return;
    }
  }
}
