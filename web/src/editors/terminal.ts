/** The terminal: loaded when it is first opened. */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { pastedText } from './pasted-text';

export interface TerminalView {
  write(data: Uint8Array): void;
  /** A line of the console's own. */
  say(text: string): void;
  focus(): void;
  stop(): void;
  readonly size: { columns: number; rows: number };
}

interface TerminalOptions {
  /** Receives bytes for reports of the mouse in their oldest form, which is no UTF-8. */
  onInput: (data: string | Uint8Array) => void;
  onResize: (size: { columns: number; rows: number }) => void;
  /** Ctrl+Shift+Escape: all other keys belong to what runs in the terminal. */
  onLeave: () => void;
}

/** The colours of the console, which follow its theme. */
function themeOf(host: HTMLElement) {
  const probe = host.appendChild(document.createElement('span'));
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const isDark =
    getComputedStyle(host).colorScheme === 'dark' ||
    (matchMedia('(prefers-color-scheme: dark)').matches && !document.documentElement.dataset.theme);
  const theme = {
    ...{ background: colour('bg'), foreground: colour('text'), cursor: colour('accent'), cursorAccent: colour('bg') },
    ...{ selectionBackground: isDark ? '#2c4a7c' : '#bcd3fb' },
  };
  probe.remove();
  return theme;
}

/** A terminal that shows a recording, and takes no input. */
export interface ReplayView {
  write(text: string): void;
  resize(size: { columns: number; rows: number }): void;
  clear(size: { columns: number; rows: number }): void;
  stop(): void;
}

export function startReplay(host: HTMLElement, { columns: cols, rows }: { columns: number; rows: number }): ReplayView {
  const terminal = new Terminal({
    ...{ ...looks(host), cols, rows, disableStdin: true },
    // A recording leads nowhere.
    linkHandler: { activate: () => undefined },
  });
  boundRepetitions(terminal);
  terminal.open(host);
  // Screen readers and keyboards get the text beside it.
  terminal.textarea?.setAttribute('tabindex', '-1');
  const steps = new ReplaySteps(terminal);
  return {
    write: (text) => steps.write(text),
    resize: (size) => steps.resize(size),
    clear(size) {
      steps.drop();
      steps.write('\u001bc');
      steps.resize(size);
    },
    stop() {
      steps.drop();
      terminal.dispose();
    },
  };
}

/** Characters that a terminal gets at once. The page goes on between them. */
const pieceSize = 256 * 1024;

/** Hands text and sizes to a terminal one after the other: it refuses more than 50 MB at once, and a place further back drops the rest. */
class ReplaySteps {
  readonly #terminal: Terminal;
  #waiting: (string | { columns: number; rows: number })[] = [];
  #isBusy = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  write(text: string): void {
    for (let at = 0; at < text.length; at += pieceSize) this.#waiting.push(text.slice(at, at + pieceSize));
    this.#goOn();
  }

  resize(size: { columns: number; rows: number }): void {
    this.#waiting.push(size);
    this.#goOn();
  }

  drop(): void {
    this.#waiting = [];
  }

  #goOn(): void {
    const next = this.#isBusy ? undefined : this.#waiting.shift();
    if (next === undefined) return;
    this.#isBusy = true;
    if (typeof next !== 'string') this.#terminal.resize(next.columns, next.rows);
    this.#terminal.write(typeof next === 'string' ? next : '', () => {
      this.#isBusy = false;
      this.#goOn();
    });
  }
}

/** Sequences whose number is one of repetitions: scrolled, inserted and deleted lines, tabs, and a repeated character. */
const repeating = ['S', 'T', 'L', 'M', 'I', 'Z', 'b'];

/** Ignores sequences that repeat something more often than the terminal has places. The terminal would not answer for hours. */
function boundRepetitions(terminal: Terminal): void {
  for (const final of repeating)
    terminal.parser.registerCsiHandler({ final }, ([count]) => Number(count) > Math.max(terminal.cols, terminal.rows));
}

const looks = (host: HTMLElement) => ({
  ...{ fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace', fontSize: 13, lineHeight: 1.2, scrollback: 5000 },
  ...{ cursorBlink: false, minimumContrastRatio: 4.5, theme: themeOf(host) },
});

export function startTerminal(host: HTMLElement, { onInput, onResize, onLeave }: TerminalOptions): TerminalView {
  const terminal = new Terminal({
    ...looks(host),
    screenReaderMode: true,
  });
  boundRepetitions(terminal);
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(host);
  terminal.attachCustomKeyEventHandler((event) => {
    if (!(event.ctrlKey && event.shiftKey && event.key === 'Escape')) return true;
    if (event.type === 'keydown') onLeave();
    return false;
  });
  terminal.onData(onInput);
  terminal.onBinary((text) => onInput(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  const onPaste = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    terminal.paste(pastedText(event.clipboardData?.getData('text/plain') ?? ''));
  };
  host.addEventListener('paste', onPaste, true);
  terminal.onResize(({ cols: columns, rows }) => onResize({ columns, rows }));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(host);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const onTheme = () => {
    terminal.options.theme = themeOf(host);
  };
  const themes = new MutationObserver(onTheme);
  themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  dark.addEventListener('change', onTheme);
  fit.fit();
  return {
    write: (data) => terminal.write(data),
    say: (text) => terminal.write(`\r\n${text}\r\n`),
    focus: () => terminal.focus(),
    get size() {
      return { columns: terminal.cols, rows: terminal.rows };
    },
    stop() {
      observer.disconnect();
      host.removeEventListener('paste', onPaste, true);
      themes.disconnect();
      dark.removeEventListener('change', onTheme);
      terminal.dispose();
    },
  };
}
