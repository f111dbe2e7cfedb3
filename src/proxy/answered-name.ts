/** The name of an object in a long answer, read while the answer is passed on. */
const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [braceOpen, braceClose, bracketOpen, bracketClose] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Bytes of the longest text that matters: names have at most 253. */
const maxText = 256;

/** Finds `metadata.name` in an object as JSON. Work for each byte is constant. */
export class AnsweredName {
  #found: string | undefined;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** Begin of the string that was read last. */
  #text: number[] = [];
  /** Names of the members that are read, by their depth. */
  readonly #members: (string | undefined)[] = [];

  get found(): string | undefined {
    return this.#found;
  }

  read(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (this.#found !== undefined) return;
      if (this.#isInText) this.#readText(byte);
      else this.#readOutside(byte);
    }
  }

  #readText(byte: number): void {
    const isEnd = byte === quote && !this.#isEscaped;
    this.#isEscaped = byte === backslash && !this.#isEscaped;
    if (isEnd) this.#endText();
    else if (this.#depth <= 2 && this.#text.length < maxText) this.#text.push(byte);
  }

  #readOutside(byte: number): void {
    if (byte === quote) [this.#isInText, this.#text] = [true, []];
    else if (byte === braceOpen || byte === bracketOpen) this.#begin(undefined, 1);
    else if (byte === braceClose || byte === bracketClose) this.#depth -= 1;
    else if (byte === colon) this.#begin(Buffer.from(this.#text).toString());
    else if (byte === comma) this.#begin(undefined);
  }

  #begin(member: string | undefined, deeper = 0): void {
    this.#depth += deeper;
    if (this.#depth <= 2) this.#members[this.#depth] = member;
  }

  #endText(): void {
    this.#isInText = false;
    const [, outer, member] = this.#members;
    if (this.#depth === 2 && outer === 'metadata' && member === 'name') this.#found = Buffer.from(this.#text).toString();
  }
}
