/**
 * Values against a structural schema, in the API server's words. On an update, what was already so before is not held against the
 * one who changes something else (validation ratcheting, in the API server since 1.33).
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
 */
import { isDeepStrictEqual } from 'node:util';
import {
  duplicate,
  type FieldError,
  invalidValue,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from '@atrium/objects/field-error.ts';
import { isJsonObject } from './objects.ts';
import type { Schema } from './schema-definition.ts';

/** The item's values for the keys of a list of type map; what identifies it. */
const listKeyOf = (item: unknown, keys: readonly string[]): Record<string, unknown> =>
  isJsonObject(item) ? Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]])) : {};

/** Items by what identifies them, made once for each list: comparing each with each takes seconds where there are thousands. */
const itemsByKey = new WeakMap<readonly unknown[], ReadonlyMap<string, unknown>>();

/** The item of the old list that a new one continues; only lists of type map have such. */
export function continuedItem(schema: Schema, item: unknown, old: unknown): unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (!keys || !Array.isArray(old)) return undefined;
  const textOf = (one: unknown) => JSON.stringify(listKeyOf(one, keys));
  const known = itemsByKey.get(old) ?? new Map(old.map((one: unknown) => [textOf(one), one]));
  itemsByKey.set(old, known);
  return known.get(textOf(item));
}

export const fieldOf = (value: unknown, key: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

export const childPath = (path: string, key: string) => (path ? `${path}.${key}` : key);

export const childSchema = ({ properties, additionalProperties }: Schema, key: string) => properties?.get(key) ?? additionalProperties;

/** `path` is dotted, empty for the whole object. `old` is undefined on creation and where nothing corresponds. */
export function validateValue(schema: Schema, value: unknown, path: string, old?: unknown): FieldError[] {
  if (old !== undefined && isDeepStrictEqual(value, old)) return [];
  const { enum: allowed } = schema;
  const isAllowed = !allowed || allowed.some((one) => isDeepStrictEqual(one, value));
  const errors = [...validateType(schema, value, path), ...validateContent(schema, value, path, old)];
  return isAllowed ? errors : [...errors, notSupported(path, value, allowed)];
}

function validateContent(schema: Schema, value: unknown, path: string, old: unknown): FieldError[] {
  if (typeof value === 'string') return validateString(schema, value, path);
  if (typeof value === 'number') return validateNumber(schema, value, path);
  if (Array.isArray(value)) return validateArray(schema, value, path, old);
  return isJsonObject(value) ? validateObject(schema, value, path, old) : [];
}

function validateType({ type, nullable }: Schema, value: unknown, path: string): FieldError[] {
  const actual = typeName(value);
  if (!type || (value === null && nullable) || type === actual || (actual === 'integer' && type === 'number')) return [];
  return [typeInvalid(path, actual, `${path} in body must be of type ${type}: "${actual}"`)];
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** Lengths count characters, as in JSON Schema, although the message of the API server says bytes. */
function validateString({ format, pattern, minLength = 0, maxLength = Infinity }: Schema, value: string, path: string): FieldError[] {
  const length = [...value].length;
  const errors: FieldError[] = [];
  if (length > maxLength) errors.push(tooLong(path, maxLength));
  else if (length < minLength) errors.push(invalidValue(path, value, `${path} in body should be at least ${minLength} chars long`));
  else if (pattern && !pattern.expression.test(value)) {
    errors.push(invalidValue(path, value, `${path} in body should match '${pattern.text}'`));
  }
  if (format === 'date-time' && !parseDateTime(value)) {
    errors.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`));
  }
  return errors;
}

/** RFC 3339, with a time zone; undefined for what is none, a 30 February included. */
export function parseDateTime(value: string): Date | undefined {
  const [, day] = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.exec(value) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  const instant = new Date(value.toUpperCase());
  const isValid = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(`${day}`) && !Number.isNaN(instant.getTime());
  return isValid ? instant : undefined;
}

function validateNumber({ type, format = 'int64', ...schema }: Schema, value: number, path: string): FieldError[] {
  const bits = type === 'integer' ? (format === 'int32' ? 31 : 63) : Infinity;
  // Numbers are doubles here: what lies above 64 bits is rounded before it arrives.
  const { minimum = -(2 ** bits), maximum = bits === 31 ? 2 ** bits - 1 : 2 ** bits } = schema;
  if (value < minimum) return [invalidValue(path, value, `${path} in body should be greater than or equal to ${minimum}`)];
  return value > maximum ? [invalidValue(path, value, `${path} in body should be less than or equal to ${maximum}`)] : [];
}

function validateArray(schema: Schema, value: unknown[], path: string, old: unknown): FieldError[] {
  const { items, minItems = 0, maxItems = Infinity } = schema;
  const errors = items ? value.flatMap((item, at) => validateValue(items, item, `${path}[${at}]`, continuedItem(schema, item, old))) : [];
  if (value.length < minItems) {
    errors.push(invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (value.length > maxItems) errors.push(tooMany(path, value.length, maxItems));
  const hadDuplicates = Array.isArray(old) && duplicatesOf(schema, old, path).length > 0;
  return hadDuplicates ? errors : [...errors, ...duplicatesOf(schema, value, path)];
}

function validateObject(schema: Schema, value: Record<string, unknown>, path: string, old: unknown): FieldError[] {
  const errors = Object.entries(value).flatMap(([key, entry]) => {
    const known = childSchema(schema, key);
    return known ? validateValue(known, entry, childPath(path, key), fieldOf(old, key)) : [];
  });
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key));
  return [...errors, ...missing.map((key) => required(childPath(path, key)))];
}

/** Lists of type set and map hold nothing twice. */
function duplicatesOf(schema: Schema, value: unknown[], path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'];
  const seen = new Map<string, number>();
  return value.flatMap((item, at) => {
    const identity = keys ? listKeyOf(item, keys) : item;
    const text = JSON.stringify(identity);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    // The third and further ones are not news.
    return times === 2 ? [duplicate(`${path}[${at}]`, identity)] : [];
  });
}
