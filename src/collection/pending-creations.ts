interface Creation {
  /** UID of the owner. */
  owner: string;
  /** Key of the object. Equal keys count as one object. */
  key: string;
  /** Keys of the objects of the owner that the watch shows. */
  existing: readonly string[];
}

/**
 * Creates objects of which each owner may have a few only. Counts them before the watch shows them, so that concurrent requests do not exceed
 * the limit. Replicas count separately, so that requests to several of them may exceed it by a few.
 */
export class PendingCreations {
  /** Keys of the objects that are being created, by owner. */
  readonly #pending = new Map<string, Set<string>>();

  /**
   * @param check receives the keys of all objects of the owner, and refuses a further one
   * @throws errors of `check` and `create`
   */
  async create<T>({ owner, key, existing }: Creation, check: (keys: ReadonlySet<string>) => void, create: () => Promise<T>): Promise<T> {
    const pending = this.#pending.get(owner) ?? new Set();
    // The watch may show an object while its creation is still pending: the set counts it once.
    check(new Set([...existing, ...pending]));
    this.#pending.set(owner, pending.add(key));
    try {
      return await create();
    } finally {
      pending.delete(key);
      if (pending.size === 0) this.#pending.delete(owner);
    }
  }
}
