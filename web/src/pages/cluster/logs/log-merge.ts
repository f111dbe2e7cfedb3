/** Merges the lines of several logs by time into blocks of bounded size. */

export interface MergedLine {
  text: string;
  time: string;
  /** Sorts lines by time. */
  key: string;
  /** Index of its source; colours and names are kept by it. */
  source: number;
}

export interface Block {
  lines: MergedLine[];
  characters: number;
}

const blockLines = 200;

/**
 * Sorts lines by the API server's timestamps. Lines of the same source keep their order, also when the clock of a node goes back.
 * The oldest blocks leave when the limits are reached.
 */
export class LogMerge<B extends Block> {
  readonly blocks: B[] = [];
  readonly #newest = new Map<number, string>();
  readonly #make: () => B;
  readonly #limits: { lines: number; characters: number };

  constructor(make: () => B, limits: { lines: number; characters: number }) {
    this.#make = make;
    this.#limits = limits;
  }

  /** @returns the blocks that have changed, of those that are kept, and the blocks that have left */
  add(given: readonly MergedLine[]): { touched: ReadonlySet<B>; removed: readonly B[] } {
    const touched = new Set<B>();
    for (const line of given) {
      const newest = this.#newest.get(line.source) ?? '';
      const key = line.key > newest ? line.key : newest;
      this.#newest.set(line.source, key);
      for (const block of this.#insert({ ...line, key })) touched.add(block);
    }
    const removed = this.#trim();
    for (const block of removed) touched.delete(block);
    return { touched, removed };
  }

  /** Forgets the lines of one source. */
  forget(source: number): readonly B[] {
    this.#newest.delete(source);
    const touched = this.blocks.filter(({ lines }) => lines.some((line) => line.source === source));
    for (const block of touched) {
      block.lines = block.lines.filter((line) => line.source !== source);
      block.characters = block.lines.reduce((sum, { text }) => sum + text.length, 0);
    }
    return touched;
  }

  #insert(line: MergedLine): B[] {
    const at = this.#blockFor(line.key);
    const block = this.blocks[at] ?? this.#open(this.blocks.length);
    const isLast = at < 0 || at === this.blocks.length - 1;
    if (isLast && block.lines.length >= blockLines && !((block.lines.at(-1)?.key ?? '') > line.key)) {
      const next = this.#open(this.blocks.length);
      put(next, line);
      return [next];
    }
    put(block, line);
    if (block.lines.length <= 2 * blockLines) return [block];
    const other = this.#open(this.blocks.indexOf(block) + 1);
    other.lines = block.lines.splice(blockLines);
    for (const half of [block, other]) half.characters = half.lines.reduce((sum, { text }) => sum + text.length, 0);
    return [block, other];
  }

  /** The last block that begins no later than the line. */
  #blockFor(key: string): number {
    let [low, high] = [0, this.blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.blocks[middle]?.lines[0]?.key ?? '') <= key) low = middle + 1;
      else high = middle;
    }
    return this.blocks.length === 0 ? -1 : Math.max(low - 1, 0);
  }

  #open(at: number): B {
    const block = this.#make();
    this.blocks.splice(at, 0, block);
    return block;
  }

  #trim(): B[] {
    const removed: B[] = [];
    let lines = 0;
    let characters = 0;
    for (const block of this.blocks) {
      lines += block.lines.length;
      characters += block.characters;
    }
    while (this.blocks.length > 1 && (lines > this.#limits.lines + blockLines || characters > this.#limits.characters)) {
      const [block] = this.blocks.splice(0, 1);
      if (block === undefined) break;
      lines -= block.lines.length;
      characters -= block.characters;
      removed.push(block);
    }
    return removed;
  }
}

function put(block: Block, line: MergedLine): void {
  let at = block.lines.length;
  while (at > 0 && (block.lines[at - 1]?.key ?? '') > line.key) at -= 1;
  block.lines.splice(at, 0, line);
  block.characters += line.text.length;
}
