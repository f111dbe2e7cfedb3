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
} from '../../../src/api/field-error.ts';
import type { Schema } from './schema-definition.ts';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The item's values for the keys of a list of type map; what identifies it. */
const listKeyOf = (item: unknown, keys: readonly string[]): Record<string, unknown> =>
  isObject(item) ? Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]])) : {};

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

export const fieldOf = (value: unknown, key: string): unknown => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined);

/** `path` is dotted, empty for the whole object. `old` is undefined on creation and where nothing corresponds. */
export function validateValue(schema: Schema, value: unknown, path: string, old?: unknown): FieldError[] {
  if (old !== undefined && isDeepStrictEqual(value, old)) return [];
  return [...validateType(schema, value, path), ...validateContent(schema, value, path, old), ...validateEnum(schema, value, path)];
}

function validateContent(schema: Schema, value: unknown, path: string, old: unknown): FieldError[] {
  if (typeof value === 'string') return validateString(schema, value, path);
  if (typeof value === 'number') return validateNumber(schema, value, path);
  if (Array.isArray(value)) return validateArray(schema, value, path, old);
  return isObject(value) ? validateObject(schema, value, path, old) : [];
}

function validateType({ type, nullable, format, ...schema }: Schema, value: unknown, path: string): FieldError[] {
  const allowed = schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : type ? [type] : [];
  if (!allowed.length || (value === null && nullable)) return [];
  const actual = typeName(value);
  if (allowed.includes(actual) || (actual === 'integer' && type === 'number')) return [];
  // Where a format is given, the API server compares formats; only numbers have one of their own.
  const byFormat = format && !['string', 'array', 'null'].includes(actual);
  const shown = byFormat ? (NUMBER_FORMATS[actual] ?? '') : actual;
  return [typeInvalid(path, shown, `${path} in body must be of type ${byFormat ? format : allowed.join(',')}: "${shown}"`)];
}

const NUMBER_FORMATS: Record<string, string> = { integer: 'int64', number: 'float64' };

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function validateEnum({ enum: allowed }: Schema, value: unknown, path: string): FieldError[] {
  if (!allowed || allowed.some((one) => isDeepStrictEqual(one, value))) return [];
  return [notSupported(path, value, allowed)];
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

const INT_RANGES: Record<string, readonly [min: number, max: number]> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  // Numbers are doubles here: what lies above is rounded before it arrives.
  int64: [-(2 ** 63), 2 ** 63],
};

function validateNumber(schema: Schema, value: number, path: string): FieldError[] {
  const { type, format, minimum = -Infinity, maximum = Infinity, exclusiveMinimum, exclusiveMaximum } = schema;
  const errors: FieldError[] = [];
  const range = type === 'integer' ? INT_RANGES[format ?? 'int64'] : undefined;
  if (range && (value < range[0] || value > range[1] || !Number.isInteger(value))) {
    const expected = format ? `integer with format ${format}` : 'integer (default format)';
    errors.push(invalidValue('<nil>', '', `Checked value must be of type ${expected} in ${path}`));
  }
  if (exclusiveMinimum ? value <= minimum : value < minimum) {
    const relation = exclusiveMinimum ? 'greater than' : 'greater than or equal to';
    errors.push(invalidValue(path, value, `${path} in body should be ${relation} ${minimum}`));
  }
  if (exclusiveMaximum ? value >= maximum : value > maximum) {
    const relation = exclusiveMaximum ? 'less than' : 'less than or equal to';
    errors.push(invalidValue(path, value, `${path} in body should be ${relation} ${maximum}`));
  }
  return errors;
}

function validateArray(schema: Schema, value: unknown[], path: string, old: unknown): FieldError[] {
  const { items, minItems = 0, maxItems = Infinity } = schema;
  const errors = items ? value.flatMap((item, at) => validateValue(items, item, `${path}[${at}]`, continuedItem(schema, item, old))) : [];
  if (value.length < minItems) {
    errors.push(invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (value.length > maxItems) errors.push(tooMany(path, value.length, maxItems));
  return errors;
}

function validateObject(schema: Schema, value: Record<string, unknown>, path: string, old: unknown): FieldError[] {
  const { properties, additionalProperties, minProperties = 0, maxProperties = Infinity } = schema;
  const size = Object.keys(value).length;
  const errors: FieldError[] = [];
  if (size < minProperties) {
    errors.push(invalidValue(path, size, `${path} in body should have at least ${minProperties} properties`));
  }
  if (size > maxProperties) errors.push(tooMany(path, size, maxProperties));
  for (const [key, entry] of Object.entries(value)) {
    const known = properties?.get(key) ?? additionalProperties;
    if (known) errors.push(...validateValue(known, entry, childPath(path, key), fieldOf(old, key)));
  }
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key));
  return [...errors, ...missing.map((key) => required(childPath(path, key)))];
}

export const childPath = (path: string, key: string) => (path ? `${path}.${key}` : key);

/** Lists of type set and map hold nothing twice. */
export function validateUniqueness(schema: Schema, value: unknown, path: string): FieldError[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return [
      ...duplicatesOf(schema, value, path),
      ...(items ? value.flatMap((item, at) => validateUniqueness(items, item, `${path}[${at}]`)) : []),
    ];
  }
  if (!isObject(value)) return [];
  const { properties, additionalProperties } = schema;
  return Object.entries(value).flatMap(([key, entry]) => {
    const known = properties?.get(key) ?? additionalProperties;
    return known ? validateUniqueness(known, entry, childPath(path, key)) : [];
  });
}

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
