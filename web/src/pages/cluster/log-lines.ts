/** The lines of a log in the page: the last of them, in blocks that the browser lays out when they come into sight. */
import { type Signal, signal } from '@preact/signals';
import { LogText } from './log-text';

const keptLines = 50_000;
const blockLines = 200;
const lineHeight = 20;
const highlightName = 'log-match';
const maxMarks = 5000;

interface Block {
  element: HTMLElement;
  lines: string[];
}

export class LogLines {
  readonly count: Signal<number> = signal(0);
  readonly matches: Signal<number | undefined> = signal(undefined);
  /** The end is in sight, and stays there while lines come. */
  readonly isAtEnd: Signal<boolean> = signal(true);
  readonly #host: HTMLElement;
  readonly #blocks: Block[] = [];
  readonly #text = new LogText();
  /** The line that has no end yet, behind all blocks. */
  readonly #tail = document.createElement('div');
  #pending: string[] = [];
  #words = '';
  #frame = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    host.append(this.#tail);
    host.onscroll = () => {
      this.isAtEnd.value = host.scrollHeight - host.scrollTop - host.clientHeight < 2 * lineHeight;
    };
  }

  add(data: ArrayBuffer): void {
    for (const line of this.#text.add(data)) this.#pending.push(line);
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  /** The connection is lost. @returns since when it is to go on. Without a time all is read again, and what is here goes. */
  resume(): string | undefined {
    this.#flush();
    const since = this.#text.resume();
    if (since === undefined) for (const { element } of this.#blocks.splice(0)) element.remove();
    return since;
  }

  /** Nothing more comes. */
  end(): void {
    for (const line of this.#text.end()) this.#pending.push(line);
    this.#flush();
  }

  /** Shows the lines that have this in them. */
  filter(words: string): void {
    this.#words = words.toLowerCase();
    for (const block of this.#blocks) this.#draw(block);
    this.#drawTail();
    this.#tell();
  }

  toEnd(): void {
    this.#host.scrollTop = this.#host.scrollHeight;
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    CSS.highlights?.delete(highlightName);
    this.#host.onscroll = null;
    this.#host.replaceChildren();
  }

  #flush(): void {
    this.#frame = 0;
    const wasAtEnd = this.isAtEnd.value;
    const pending = this.#pending.slice(-keptLines);
    this.#pending = [];
    const touched = new Set<Block>();
    for (const line of pending) {
      let last = this.#blocks.at(-1);
      if (last === undefined || last.lines.length >= blockLines) {
        last = { element: document.createElement('div'), lines: [] };
        this.#blocks.push(last);
        this.#tail.before(last.element);
      }
      last.lines.push(line);
      touched.add(last);
    }
    while (this.#blocks.length * blockLines > keptLines + blockLines) this.#blocks.shift()?.element.remove();
    for (const block of touched) this.#draw(block);
    this.#drawTail();
    this.#tell();
    if (wasAtEnd) this.toEnd();
  }

  #draw({ element, lines }: Block): void {
    const shown = this.#words === '' ? lines : lines.filter((line) => line.toLowerCase().includes(this.#words));
    element.textContent = shown.length === 0 ? '' : `${shown.join('\n')}\n`;
    element.style.setProperty('contain-intrinsic-block-size', `auto ${shown.length * lineHeight}px`);
  }

  #drawTail(): void {
    const line = this.#text.unfinished;
    this.#tail.textContent = line.toLowerCase().includes(this.#words) ? line : '';
  }

  #tell(): void {
    const unfinished = this.#text.unfinished;
    this.count.value = this.#blocks.reduce((sum, { lines }) => sum + lines.length, unfinished === '' ? 0 : 1);
    if (this.#words === '') {
      this.matches.value = undefined;
      CSS.highlights?.delete(highlightName);
      return;
    }
    const has = (line: string) => line.toLowerCase().includes(this.#words);
    const first = unfinished !== '' && has(unfinished) ? 1 : 0;
    this.matches.value = this.#blocks.reduce((sum, { lines }) => sum + lines.filter(has).length, first);
    this.#mark();
  }

  /** The newest matches are marked, by the browser: no element is made for it. */
  #mark(): void {
    if (CSS.highlights === undefined) return;
    const ranges: Range[] = [];
    for (const { element } of this.#blocks.toReversed()) {
      const node = element.firstChild;
      const text = node?.textContent?.toLowerCase() ?? '';
      for (let at = text.indexOf(this.#words); node && at >= 0 && ranges.length < maxMarks; at = text.indexOf(this.#words, at + 1)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + this.#words.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set(highlightName, new Highlight(...ranges));
  }
}
