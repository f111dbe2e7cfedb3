/** The lines of a log in the page: the last of them, in blocks that the browser lays out when they come into sight. */
import { type Signal, signal } from '@preact/signals';

const keptLines = 50_000;
const blockLines = 200;
const lineHeight = 20;
const highlightName = 'log-match';
const maxMarks = 5000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what colours a terminal is no part of the text
const colours = /\u001b\[[0-9;]*[A-Za-z]/g;

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
  readonly #decoder = new TextDecoder();
  #pending: string[] = [];
  #rest = '';
  #words = '';
  #frame = 0;

  constructor(host: HTMLElement) {
    this.#host = host;
    host.onscroll = () => {
      this.isAtEnd.value = host.scrollHeight - host.scrollTop - host.clientHeight < 2 * lineHeight;
    };
  }

  add(data: ArrayBuffer): void {
    const parts = (this.#rest + this.#decoder.decode(data, { stream: true }).replaceAll(colours, '')).split('\n');
    this.#rest = parts.pop() ?? '';
    this.#pending.push(...parts);
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#rest !== '') this.#pending.push(this.#rest);
    this.#rest = '';
    this.#flush();
  }

  /** Shows the lines that have this in them. */
  filter(words: string): void {
    this.#words = words.toLowerCase();
    for (const block of this.#blocks) this.#draw(block);
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
        this.#host.append(last.element);
      }
      last.lines.push(line);
      touched.add(last);
    }
    while (this.#blocks.length * blockLines > keptLines + blockLines) this.#blocks.shift()?.element.remove();
    for (const block of touched) this.#draw(block);
    this.#tell();
    if (wasAtEnd) this.toEnd();
  }

  #draw({ element, lines }: Block): void {
    const shown = this.#words === '' ? lines : lines.filter((line) => line.toLowerCase().includes(this.#words));
    element.textContent = shown.length === 0 ? '' : `${shown.join('\n')}\n`;
    element.style.setProperty('contain-intrinsic-block-size', `auto ${shown.length * lineHeight}px`);
  }

  #tell(): void {
    this.count.value = this.#blocks.reduce((sum, { lines }) => sum + lines.length, 0);
    if (this.#words === '') {
      this.matches.value = undefined;
      CSS.highlights?.delete(highlightName);
      return;
    }
    const has = (line: string) => line.toLowerCase().includes(this.#words);
    this.matches.value = this.#blocks.reduce((sum, { lines }) => sum + lines.filter(has).length, 0);
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
