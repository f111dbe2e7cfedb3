const newline = 0x0a;

/**
 * Decodes a stream of JSON values, one to a line, however it is cut into chunks. A value counts only when its whole line
 * is there; what begins a line that never ends is dropped.
 */
export class JsonLines {
  readonly #maxLineBytes: number;
  readonly #parse: (text: string) => unknown;
  #begun: Uint8Array[] = [];
  #begunBytes = 0;

  constructor(maxLineBytes: number, parse: (text: string) => unknown = JSON.parse) {
    this.#maxLineBytes = maxLineBytes;
    this.#parse = parse;
  }

  /** @throws Error for a line that is too long, no UTF-8 or no JSON; the values before it have been given */
  *push(chunk: Uint8Array): Generator<unknown, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      yield decodeLine(this.#takeLine(), this.#parse);
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Uint8Array): void {
    this.#begunBytes += part.length;
    if (this.#begunBytes > this.#maxLineBytes) throw new Error(`a line is longer than ${this.#maxLineBytes} bytes`);
    this.#begun.push(part);
  }

  #takeLine(): Uint8Array {
    const line = this.#begun.length === 1 && this.#begun[0] !== undefined ? this.#begun[0] : Buffer.concat(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    return line;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeLine(line: Uint8Array, parse: (text: string) => unknown): unknown {
  try {
    return parse(utf8.decode(line));
  } catch {
    // The parser's own message quotes the line, which may hold secrets.
    throw new Error('a line is not JSON');
  }
}
