/** A line of a log as a terminal shows it (ECMA-48, and what xterm adds): colours and titles are no text, and text overwrites text. */

// No pattern begins inside the body of another one, so that each is read in linear time.
const csiStart = String.raw`(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*`;
const csi = `${csiStart}[\\x40-\\x7e]`;
/** Titles, hyperlinks, the clipboard and images: OSC, DCS, SOS, PM and APC up to BEL or ST. */
const stringStart = String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])`;
const stringBody = String.raw`[^\x00-\x1f\x80-\x9f]*`;
const singleCode = String.raw`\x1b[\x20-\x2f]*[\x30-\x7e]`;
const control = String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f]`;
const sequence = new RegExp(
  String.raw`${stringStart}${stringBody}(?:\x07|\x1b\\|\x9c)|${csi}|${csiStart}|(?!${stringStart})${singleCode}|${control}`,
  'g',
);
const unfinishedSequence = new RegExp(String.raw`(?:${stringStart}${stringBody}\x1b?|${csiStart}|\x1b[\x20-\x2f]*)$`);
/** Sequences that move the cursor or erase. All others leave the text as it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const editing = /^(?:[\b\r]|(?:\u001b\[|\u009b)[0-9;]*[@A-HJKPXabdefsu`]|\u001b[78DEM])$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const anyControl = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** Beyond it, a cursor does not move to the right of the text, and no text is moved: a line must not cost more than its length. */
const widest = 1024;
/** Cells for each character of a line that sequences may add: a few bytes can ask for a thousand repetitions again and again. */
const addedForEach = 8;

class Row {
  readonly #finished: string[] = [];
  #cells: string[] = [];
  #column = 0;
  #saved = 0;
  /** Cells that sequences may still add. */
  #addable: number;

  constructor(line: string) {
    this.#addable = widest + addedForEach * line.length;
  }

  get text(): string {
    const current = this.#cells.length === 0 ? [] : [this.#cells.join('')];
    return [...this.#finished, ...current].join('\n');
  }

  /** A shorter line that shows the same, and continues in the same way. */
  get state(): string {
    return `${[...this.#finished, this.#cells.join('')].join('\u001bE')}\u001b[${this.#saved + 1}G\u001b7\u001b[${this.#column + 1}G`;
  }

  write(text: string): void {
    if (text !== '' && this.#column > this.#cells.length) {
      for (let left = this.#added(this.#column - this.#cells.length); left > 0; left -= 1) this.#cells.push(' ');
      this.#column = this.#cells.length;
    }
    for (const character of text) {
      if (/^\p{M}$/u.test(character) && this.#column > 0) this.#cells[this.#column - 1] += character;
      else this.#cells[this.#column++] = character;
    }
  }

  edit(found: string): void {
    const command = found.at(-1) ?? '';
    if (found.length === 2 && found.startsWith('\u001b')) {
      this.#editByEscape(command);
      return;
    }
    const [first = 0, second] = (/[\d;]+/.exec(found)?.[0] ?? '').split(';').map(Number);
    const count = first || 1;
    this.#edits[command]?.(count, first, second);
  }

  readonly #edits: Readonly<Record<string, (count: number, first: number, second: number | undefined) => void>> = {
    '\r': () => this.#moveTo(0),
    '\b': () => this.#moveTo(this.#column - 1),
    A: () => this.#leave(this.#column),
    B: () => this.#leave(this.#column),
    C: (count) => this.#moveTo(this.#column + count),
    D: (count) => this.#moveTo(this.#column - count),
    E: () => this.#leave(0),
    F: () => this.#leave(0),
    G: (count) => this.#moveTo(count - 1),
    H: (_row, _first, column) => this.#leave((column || 1) - 1),
    J: (_count, first) => this.#erase(first),
    K: (_count, first) => this.#erase(first),
    P: (count) => this.#isShort && this.#cells.splice(this.#column, count),
    X: (count) => this.#isShort && this.#blank(this.#column, this.#column + count),
    '@': (count) => this.#isShort && this.#cells.splice(this.#column, 0, ...' '.repeat(this.#added(count))),
    '`': (count) => this.#moveTo(count - 1),
    a: (count) => this.#moveTo(this.#column + count),
    b: (count) => this.#isShort && this.write((this.#cells[this.#column - 1] ?? '').repeat(this.#added(count))),
    d: () => this.#leave(this.#column),
    e: () => this.#leave(this.#column),
    f: (_row, _first, column) => this.#leave((column || 1) - 1),
    s: () => this.#save(),
    u: () => this.#moveTo(this.#saved),
  };

  #editByEscape(command: string): void {
    if (command === '7') this.#save();
    else if (command === '8') this.#moveTo(this.#saved);
    else this.#leave(command === 'E' ? 0 : this.#column);
  }

  get #isShort(): boolean {
    return this.#cells.length <= widest;
  }

  /** Returns how many of some cells are added. */
  #added(count: number): number {
    const added = Math.min(count, widest, this.#addable);
    this.#addable -= added;
    return added;
  }

  #save(): void {
    this.#saved = this.#column;
  }

  #moveTo(column: number): void {
    this.#column = Math.max(0, Math.min(column, Math.max(widest, this.#cells.length)));
  }

  /** Text of another row stands in a line of its own. */
  #leave(column: number): void {
    const text = this.#cells.join('').trimEnd();
    if (text !== '') this.#finished.push(text);
    this.#cells = [];
    this.#moveTo(column);
  }

  #erase(part: number): void {
    if (part === 0) this.#cells.length = Math.min(this.#cells.length, this.#column);
    else if (part === 1) this.#blank(0, this.#column + 1);
    else this.#cells = [];
  }

  #blank(from: number, to: number): void {
    if (this.#isShort) this.#cells.fill(' ', from, Math.min(to, this.#cells.length));
  }
}

function rowOf(line: string): Row {
  const row = new Row(line);
  let at = 0;
  for (const { 0: found, index } of line.matchAll(sequence)) {
    row.write(line.slice(at, index));
    if (editing.test(found)) row.edit(found);
    at = index + found.length;
  }
  row.write(line.slice(at));
  return row;
}

/** Returns the text that a terminal shows at the end of a line. A sequence without an end shows its text, which would be hidden else. */
export function shownOf(line: string): string {
  if (!anyControl.test(line)) return line;
  const end = line.length - (line.endsWith('\r') ? 1 : 0);
  const plain = line.slice(0, end).replaceAll(sequence, (found) => (editing.test(found) ? found : ''));
  return anyControl.test(plain) ? rowOf(plain).text : plain;
}

/** Returns a line without the sequence at its end that goes on in the next message. */
export const withoutUnfinished = (line: string): string => line.replace(unfinishedSequence, '');

/** Returns a shorter line that shows the same, and goes on as the given one does. */
export function shortened(line: string): string {
  const finished = withoutUnfinished(line);
  return anyControl.test(finished) ? rowOf(finished).state + line.slice(finished.length) : line;
}
