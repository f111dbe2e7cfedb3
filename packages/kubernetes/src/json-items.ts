/** Splits the `items` of a list while it is read, so that no list is parsed in one piece. */

const [quote, backslash, comma, letterN] = [0x22, 0x5c, 0x2c, 0x6e];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Member of the list that holds the items. */
const member = 'items';
/** Depth at which the items stand: within the list, and within its member. */
const itemDepth = 2;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes the objects in the member `items` of a JSON object, in chunks of any length. Everything else of the list is skipped.
 *
 * @see JsonLines for streams of values
 */
export class JsonItems {
  readonly #maxItemBytes: number;
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** Last text in the list, which may be the name of a member. */
  #text = '';
  #isInItems = false;
  #isFound = false;

  constructor(maxItemBytes: number) {
    this.#maxItemBytes = maxItemBytes;
  }

  /** Reports whether the list has ended, and had items. */
  get isComplete(): boolean {
    return this.#isFound && this.#depth === 0 && !this.#isInText;
  }

  /** Decodes a chunk. @throws Error for an item that is too long or no JSON in UTF-8, after the items before it */
  *push(chunk: Uint8Array): Generator<unknown, void, undefined> {
    let start = this.#begunBytes > 0 ? 0 : -1;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (this.#isInText) this.#textByte(byte);
      else if (byte === openBrace || byte === openBracket) {
        if (this.#open(byte)) start = at;
      } else if (byte === closeBrace || byte === closeBracket) {
        if (!this.#close() || start < 0) continue;
        this.#keep(chunk.subarray(start, at + 1));
        start = -1;
        yield this.#take();
      } else if (byte >= quote) this.#betweenByte(byte);
    }
    if (start >= 0) this.#keep(chunk.subarray(start));
  }

  /** @returns whether an item begins */
  #open(byte: number): boolean {
    if (this.#depth === 1) this.#isInItems = byte === openBracket && this.#text === member;
    this.#isFound ||= this.#isInItems;
    this.#depth += 1;
    return this.#isInItems && this.#depth === itemDepth + 1 && byte === openBrace;
  }

  /** @returns whether an item ends */
  #close(): boolean {
    this.#depth -= 1;
    return this.#isInItems && this.#depth === itemDepth;
  }

  /** Reads a byte outside of texts, objects and arrays, which is no white space. */
  #betweenByte(byte: number): void {
    if (byte === quote) {
      this.#isInText = true;
      this.#text = '';
    } else if (this.#depth === 1) {
      // Go writes a list without items as null, too.
      if (byte === letterN) this.#isFound ||= this.#text === member;
      else if (byte === comma) this.#text = '';
    }
  }

  #textByte(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInText = false;
    else if (this.#depth === 1 && this.#text.length <= member.length) this.#text += String.fromCharCode(byte);
  }

  #keep(part: Uint8Array): void {
    this.#begunBytes += part.length;
    if (this.#begunBytes > this.#maxItemBytes) throw new Error(`an item is longer than ${this.#maxItemBytes} bytes`);
    this.#begun.push(part);
  }

  #take(): unknown {
    const item = Buffer.concat(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    try {
      return JSON.parse(utf8.decode(item));
    } catch {
      // The message of the parser quotes the item, which may hold secrets.
      throw new Error('an item is not JSON');
    }
  }
}
