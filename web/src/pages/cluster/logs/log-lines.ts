/** The lines of a log in the page: the newest of them, in blocks that the browser lays out when they come into sight. */
import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type Signal, signal } from '@preact/signals';
import { openJson } from './log-json';
import { matchesIn } from './log-matches';
import { type Block, LogMerge, type MergedLine } from './log-merge';
import { type LogLine, LogText } from './log-text';

const limits = { lines: 50_000, characters: 32_000_000 };
const lineHeight = 20;
const highlightName = 'log-match';
const maxMarks = 5000;

interface ShownBlock extends Block {
  element: HTMLElement;
}

export interface LogLook {
  /** Lines that contain it are shown. */
  words: string;
  hasTimes: boolean;
  /** JSON objects are shown with a line for each member. */
  isJsonOpen: boolean;
  /** Undefined for all. */
  sources: ReadonlySet<number> | undefined;
}

/** A container of a pod. */
export class LogSource {
  readonly #text = new LogText();
  readonly #onLines: (lines: readonly LogLine[]) => void;

  constructor(onLines: (lines: readonly LogLine[]) => void) {
    this.#onLines = onLines;
  }

  get unfinished(): string {
    return this.#text.unfinished;
  }

  add(data: ArrayBuffer): void {
    this.#onLines(this.#text.add(data));
  }

  /** The connection is lost. @returns the time of the last line, where the stream continues; undefined if it begins anew */
  resume(): string | undefined {
    return this.#text.resume();
  }

  end(): void {
    this.#onLines(this.#text.end());
  }
}

export class LogLines {
  readonly count: Signal<number> = signal(0);
  readonly matches: Signal<number | undefined> = signal(undefined);
  /** The end is in sight, and stays there while lines come. */
  readonly isAtEnd: Signal<boolean> = signal(true);
  readonly #host: HTMLElement;
  /** Names before the lines; none where the page shows one container. */
  readonly #names: string[] | undefined;
  readonly #sources: LogSource[] = [];
  readonly #merge = new LogMerge<ShownBlock>(() => this.#newBlock(), limits);
  /** The line of a lone source that has no end yet, behind all blocks. */
  readonly #tail = document.createElement('div');
  #pending: MergedLine[] = [];
  #look: LogLook = { words: '', hasTimes: false, isJsonOpen: false, sources: undefined };
  #frame = 0;

  constructor(host: HTMLElement, isMany: boolean) {
    this.#host = host;
    this.#names = isMany ? [] : undefined;
    host.append(this.#tail);
    host.onscroll = () => {
      this.isAtEnd.value = host.scrollHeight - host.scrollTop - host.clientHeight < 2 * lineHeight;
    };
  }

  /** @returns the source and its index */
  addSource(name: string): { source: LogSource; index: number } {
    const index = this.#sources.length;
    const source = new LogSource((lines) => {
      for (const line of lines) this.#pending.push({ ...line, source: index });
      this.#frame ||= requestAnimationFrame(() => this.#flush());
    });
    this.#sources.push(source);
    this.#names?.push(name);
    return { source, index };
  }

  sourceAt(index: number): { source: LogSource; index: number } {
    const source = this.#sources[index];
    if (source === undefined) throw new RangeError(`the log has no source ${index}`);
    return { source, index };
  }

  /** A stream is lost. @returns the time where it continues; undefined if all is read again, and its lines go */
  resume(index: number): string | undefined {
    this.#flush();
    const since = this.#sources[index]?.resume();
    if (since === undefined) for (const block of this.#merge.forget(index)) this.#draw(block);
    return since;
  }

  end(index: number): void {
    this.#sources[index]?.end();
    this.#flush();
  }

  show(look: LogLook): void {
    this.#look = { ...look, words: wantedText(look.words) };
    for (const block of this.#merge.blocks) this.#draw(block);
    this.#drawTail();
    this.#tell();
    if (this.isAtEnd.value) this.toEnd();
  }

  toEnd(): void {
    this.#host.scrollTop = this.#host.scrollHeight;
  }

  /** The shown lines with their times. */
  get text(): string {
    const lines = this.#merge.blocks.flatMap((block) => block.lines.filter((line) => this.#isShown(line)));
    return lines.map((line) => `${[this.#names?.[line.source], line.time, line.text].filter(Boolean).join(' ')}\n`).join('');
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    CSS.highlights?.delete(highlightName);
    this.#host.onscroll = null;
    this.#host.replaceChildren();
  }

  #newBlock(): ShownBlock {
    return { element: document.createElement('div'), lines: [], characters: 0 };
  }

  #flush(): void {
    this.#frame = 0;
    const wasAtEnd = this.isAtEnd.value;
    const pending = this.#pending.slice(-limits.lines);
    this.#pending = [];
    const { touched, removed } = this.#merge.add(pending);
    for (const { element } of removed) element.remove();
    for (const block of touched) {
      if (!block.element.isConnected) {
        const next = this.#merge.blocks[this.#merge.blocks.indexOf(block) + 1];
        this.#host.insertBefore(block.element, next?.element.isConnected ? next.element : this.#tail);
      }
      this.#draw(block);
    }
    this.#drawTail();
    this.#tell();
    if (wasAtEnd) this.toEnd();
  }

  #has = (text: string): boolean => folded(text).includes(this.#look.words);

  #isShown({ source, text }: MergedLine): boolean {
    return (this.#look.sources === undefined || this.#look.sources.has(source)) && (this.#look.words === '' || this.#has(text));
  }

  #draw({ element, lines }: ShownBlock): void {
    const shown = lines.filter((line) => this.#isShown(line));
    if (this.#names === undefined) element.textContent = shown.map((line) => `${this.#textOf(line)}\n`).join('');
    else element.replaceChildren(...shown.map((line) => this.#rowOf(line, this.#names?.[line.source] ?? '')));
    element.style.setProperty('contain-intrinsic-block-size', `auto ${shown.length * lineHeight}px`);
  }

  #rowOf(line: MergedLine, name: string): HTMLElement {
    const [row, label] = [document.createElement('div'), document.createElement('span')];
    row.className = `log-row log-colour-${line.source % logColours}`;
    label.textContent = name;
    row.append(label, ` ${this.#textOf(line)}\n`);
    return row;
  }

  #textOf({ text, time }: MergedLine): string {
    const shown = this.#look.isJsonOpen ? openJson(text) : text;
    return this.#look.hasTimes && time !== '' ? `${time} ${shown}` : shown;
  }

  #drawTail(): void {
    const line = this.#sources.length === 1 ? (this.#sources[0]?.unfinished ?? '') : '';
    this.#tail.textContent = this.#has(line) ? line : '';
  }

  #tell(): void {
    const tail = this.#sources.length === 1 ? (this.#sources[0]?.unfinished ?? '') : '';
    this.count.value = this.#merge.blocks.reduce((sum, { lines }) => sum + lines.length, tail === '' ? 0 : 1);
    const isAll = this.#look.words === '' && this.#look.sources === undefined;
    const first = tail !== '' && this.#has(tail) ? 1 : 0;
    this.matches.value = isAll
      ? undefined
      : this.#merge.blocks.reduce((sum, { lines }) => sum + lines.filter((line) => this.#isShown(line)).length, first);
    this.#mark();
  }

  /** Marks the newest matches by the highlight API, which makes no element. */
  #mark(): void {
    if (CSS.highlights === undefined) return;
    const { words } = this.#look;
    CSS.highlights.delete(highlightName);
    if (words === '') return;
    const ranges: Range[] = [];
    for (const { element } of this.#merge.blocks.toReversed()) {
      if (ranges.length >= maxMarks) break;
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) markIn(node, words, ranges);
    }
    CSS.highlights.set(highlightName, new Highlight(...ranges));
  }
}

/** Number of colours in cluster.css. */
const logColours = 10;

function markIn(node: Node, words: string, ranges: Range[]): void {
  for (const [begin, end] of matchesIn(node.textContent ?? '', words)) {
    if (ranges.length >= maxMarks) return;
    const range = new Range();
    range.setStart(node, begin);
    range.setEnd(node, end);
    ranges.push(range);
  }
}
