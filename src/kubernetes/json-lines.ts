const newline = 0x0a;

/**
 * Decodes a stream of JSON values, one on each line, in chunks of any length. A value is returned once its line is complete; an incomplete
 * last line is dropped.
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

  /** Decodes a chunk. @throws Error for a line that is too long or no JSON in UTF-8, after the values before it */
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
    // The message of the parser quotes the line, which may hold secrets.
    throw new Error('a line is not JSON');
  }
}
