/**
 * Finds the schemas in the text of an OpenAPI document without parsing it. The document of core/v1 has megabytes, and a page needs a few
 * schemas of it. A Web Worker could parse the whole, but the policy of the console refuses its URL (`trusted-types 'none'`).
 */

type Position = readonly [from: number, to: number];

const stepLength = 65_536;
/** The depth of the names in `components.schemas`. */
const schemaDepth = 3;

const [quote, backslash, colon, space] = ['"', '\\', ':', ' '].map((char) => char.charCodeAt(0));
const [openBrace, openBracket, closeBrace, closeBracket] = ['{', '[', '}', ']'].map((char) => char.charCodeAt(0));

/** Returns the position of the quote that ends a string. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function afterSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= (space as number)) at += 1;
  return at;
}

class Scan {
  readonly positions: Map<string, Position> = new Map();
  readonly #text: string;
  /** The names at depths 1 to 3. */
  readonly #names: string[] = [];
  #depth = 0;
  #open: { name: string; from: number } | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns the position behind the token that begins here */
  take(at: number): number {
    const char = this.#text.charCodeAt(at);
    if (char === quote) return this.#string(at);
    if (char === openBrace || char === openBracket) this.#depth += 1;
    else if (char === closeBrace || char === closeBracket) this.#close(at + 1);
    return at + 1;
  }

  #string(from: number): number {
    const end = endOfString(this.#text, from);
    if (this.#depth > schemaDepth) return end + 1;
    const after = afterSpaces(this.#text, end + 1);
    if (this.#text.charCodeAt(after) !== colon) return end + 1;
    this.#names[this.#depth] = this.#text.slice(from + 1, end);
    const [, first, second, name = ''] = this.#names;
    if (this.#depth === schemaDepth && first === 'components' && second === 'schemas') this.#open = { name, from: after + 1 };
    return after + 1;
  }

  #close(end: number): void {
    this.#depth -= 1;
    if (this.#depth !== schemaDepth || this.#open === undefined) return;
    this.positions.set(this.#open.name, [this.#open.from, end]);
    this.#open = undefined;
  }
}

/** Walks over the text in steps, and yields after each. @returns positions of `components.schemas` by name */
export function* schemaPositions(text: string): Generator<undefined, ReadonlyMap<string, Position>> {
  const scan = new Scan(text);
  let next = stepLength;
  for (let at = 0; at < text.length; at = scan.take(at)) {
    if (at < next) continue;
    next = at + stepLength;
    yield;
  }
  return scan.positions;
}
