/** JSON with the integers of Go: doubles are exact to 2^53, Kubernetes has int64. */

/** Creates a value that is serialized as the given text. Part of ECMAScript 2026. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): object };

/** Integers that may be inexact. `JSON.parse` without a function is ten times faster, and exact for shorter ones. */
const longInteger = /[[:,]\s*-?\d{16}/;
const integer = /^-?\d+$/;

/** Reads integers that a double cannot hold as BigInt. @throws SyntaxError */
export const parseExact = (text: string): unknown => (longInteger.test(text) ? JSON.parse(text, exactly) : JSON.parse(text));

/** @param context `source` is the number as written in the text */
function exactly(_: string, value: unknown, context?: { source?: string }): unknown {
  const { source = '' } = context ?? {};
  return typeof value === 'number' && !Number.isSafeInteger(value) && integer.test(source) ? BigInt(source) : value;
}

/** Replacer for `JSON.stringify` that writes a BigInt exactly. */
export const exactValue = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? rawJSON(String(value)) : value);
