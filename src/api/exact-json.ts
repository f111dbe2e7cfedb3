/** JSON with the integers of Go: a double holds them to 2^53, Kubernetes has int64. */

/** Part of ECMAScript 2026; makes a value that is written as that text. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): object };

/** Shorter integers are exact, and `JSON.parse` without a function is ten times faster. */
const longInteger = /[[:,]\s*-?\d{16}/;
const integer = /^-?\d+$/;

/** Reads integers that a double cannot hold as BigInt. @throws SyntaxError */
export const parseExact = (text: string): unknown => (longInteger.test(text) ? JSON.parse(text, exactly) : JSON.parse(text));

/** @param context `source`: the number as it stands in the text */
function exactly(_: string, value: unknown, context?: { source?: string }): unknown {
  const { source = '' } = context ?? {};
  return typeof value === 'number' && !Number.isSafeInteger(value) && integer.test(source) ? BigInt(source) : value;
}

/** For `JSON.stringify`: writes a BigInt to the digit. */
export const exactValue = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? rawJSON(String(value)) : value);
