import { closestMatch } from 'leven';

/** Returns the name that is closest to a misspelt one, ignoring case; undefined if none is close. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]));
  const maxDistance = Math.max(2, Math.floor(given.length / 3));
  return byLowerCase.get(closestMatch(given.toLowerCase(), [...byLowerCase.keys()], { maxDistance }) ?? '');
}

/**
 * Field errors with the API server's messages, for `details.causes` of a 422.
 *
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation/field
 */

export interface FieldError {
  /** `FieldValueRequired`, `FieldValueInvalid`, … */
  reason: string;
  message: string;
  /** Dotted JSON path with zero-based `[n]`. */
  field: string;
}

export const required = (field: string, detail = ''): FieldError => ({
  reason: 'FieldValueRequired',
  message: join('Required value', detail),
  field,
});

export const forbidden = (field: string, detail: string): FieldError => ({
  reason: 'FieldValueForbidden',
  message: join('Forbidden', detail),
  field,
});

export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  reason: 'FieldValueInvalid',
  message: join(`Invalid value: ${valueText(value)}`, detail),
  field,
});

export const typeInvalid = (field: string, value: unknown, detail: string): FieldError => ({
  ...invalidValue(field, value, detail),
  reason: 'FieldValueTypeInvalid',
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${valueText(value)}`,
  field,
});

export const notFoundValue = (field: string, value: unknown): FieldError => ({
  reason: 'FieldValueNotFound',
  message: `Not found: ${valueText(value)}`,
  field,
});

export const notSupported = (field: string, value: unknown, supported: readonly unknown[]): FieldError => ({
  reason: 'FieldValueNotSupported',
  message: join(`Unsupported value: ${valueText(value)}`, `supported values: ${supported.map((one) => quote(String(one))).join(', ')}`),
  field,
});

/** Error for a value of more than `limit` bytes. The message omits the value. */
export const tooLong = (field: string, limit: number): FieldError => ({
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} ${limit === 1 ? 'byte' : 'bytes'}`,
  field,
});

export const tooMany = (field: string, actual: number, limit: number): FieldError => ({
  reason: 'FieldValueTooMany',
  message: `Too many: ${actual}: must have at most ${limit} ${limit === 1 ? 'item' : 'items'}`,
  field,
});

/** Bound of a value in a message, in characters. Longer values are cut. */
const maxShown = 1024;

/** Returns a text for a message, cut after `length` characters. */
export const cut = (text: string, length = maxShown): string => (text.length > length ? `${text.slice(0, length)}…` : text);

/** Returns the value for a field error: text is quoted, structured values are JSON with sorted keys. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return quote(cut(value));
  const text = JSON.stringify(value ?? null);
  if (text.length > maxShown) return cut(text);
  return JSON.stringify(inOrder(value) ?? null).replace(/[<>&\u2028\u2029]/g, escapeCharacter);
}

// Go's encoding/json escapes these, so that its texts are safe inside HTML.
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

const quote = (text: string) => JSON.stringify(text);

const join = (what: string, detail: string) => (detail ? `${what}: ${detail}` : what);

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => [key, inOrder(entry)]),
  );
}
