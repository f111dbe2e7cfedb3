/** Names of records by something that they have. Where several have it, the order of their names decides: the same on every replica. */
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

  /** All of them, in order. */
  of(key: string): readonly string[] {
    return [...(this.#names.get(key) ?? [])].sort();
  }
}
