interface Entry {
  readonly key: string;
  readonly at: number;
  index: number;
}

/**
 * Keys by due time: a binary heap that knows the index of each key. The first key is found at once, and a change takes logarithmic time.
 */
export class DueTimes {
  readonly #heap: Entry[] = [];
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#heap.length;
  }

  /** The key that is due first. */
  get first(): { readonly key: string; readonly at: number } | undefined {
    return this.#heap[0];
  }

  timeOf(key: string): number | undefined {
    return this.#entries.get(key)?.at;
  }

  /** Sets the due time of a key, and replaces an earlier one. */
  set(key: string, at: number): void {
    this.delete(key);
    const entry: Entry = { key, at, index: this.#heap.length };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#rise(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    const last = this.#heap.at(-1);
    if (entry === undefined || last === undefined) return;
    this.#entries.delete(key);
    this.#heap.pop();
    if (last === entry) return;
    this.#put(last, entry.index);
    this.#rise(last);
    this.#sink(last);
  }

  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #put(entry: Entry, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #rise(entry: Entry): void {
    for (let parent = this.#parentOf(entry); parent !== undefined && parent.at > entry.at; parent = this.#parentOf(entry))
      this.#swap(parent, entry);
  }

  #sink(entry: Entry): void {
    for (let child = this.#firstChildOf(entry); child !== undefined && child.at < entry.at; child = this.#firstChildOf(entry))
      this.#swap(entry, child);
  }

  #swap(one: Entry, other: Entry): void {
    const { index } = one;
    this.#put(one, other.index);
    this.#put(other, index);
  }

  #parentOf({ index }: Entry): Entry | undefined {
    return this.#heap[(index - 1) >> 1];
  }

  #firstChildOf({ index }: Entry): Entry | undefined {
    const left = this.#heap[2 * index + 1];
    const right = this.#heap[2 * index + 2];
    return left !== undefined && right !== undefined && right.at < left.at ? right : left;
  }
}
