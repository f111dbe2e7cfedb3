/** Index of record names by a property. Records with the same property are ordered by name, so that every replica chooses the same one. */
export class NameIndex {
  readonly #names = new Map<string, Set<string>>();

  add(key: string, name: string): void {
    const names = this.#names.get(key);
    if (names === undefined) this.#names.set(key, new Set([name]));
    else names.add(name);
  }

  remove(key: string, name: string): void {
    const names = this.#names.get(key);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(key);
  }

  /** Returns all names of a key, in order. */
  of(key: string): readonly string[] {
    return [...(this.#names.get(key) ?? [])].sort();
  }
}
