/**
 * Custom resources against their structural schema: unknown fields go, defaults come, the rest is checked. Independent of storage
 * and HTTP.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */

import { type FieldError, invalidValue } from '../../../src/api/field-error.ts';
import { compileRules, runRules } from './cel.ts';
import { parseSchema, type Schema, unenforceable } from './schema-definition.ts';
import { childPath, isObject, validateUniqueness, validateValue } from './schema-values.ts';

export interface CompiledSchema {
  /** Removes unknown fields in place; returns their dotted paths, in order. */
  prune(object: Record<string, unknown>): string[];
  /** Fills in defaults in place; a null where none is allowed counts as absent. */
  applyDefaults(object: Record<string, unknown>): void;
  /** Everything that is wrong, empty if nothing is. With `old`, transition rules are run, and what was wrong before is left alone. */
  validate(object: Record<string, unknown>, old?: Record<string, unknown>): FieldError[];
}

/** These belong to the API server, at the root of every object. */
const ROOT_FIELDS = ['apiVersion', 'kind', 'metadata'];

/** While one of these stands, rules are not run: they could not rely on the schema. */
const BLOCKING = ['FieldValueNotSupported', 'FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid'];

/** @throws StatusError 422 on anything in the definition that cannot be enforced here */
export function compileSchema(openAPIV3Schema: unknown): CompiledSchema {
  const schema = parseSchema(openAPIV3Schema);
  if (schema.type !== 'object') throw unenforceable([{ path: ['type'], problem: 'must be object at the root' }]);
  refuseBadDefaults(schema, []);
  const rules = compileRules(schema);

  return {
    prune: (object) => pruneObject(schema, object, '', ROOT_FIELDS).sort(),
    applyDefaults: (object) => {
      dropNulls(schema, object);
      setDefaults(schema, object);
    },
    validate: (object, old) => {
      const errors = [...validateValue(schema, object, '', old), ...newDuplicates(schema, object, old)];
      if (errors.some(({ reason }) => BLOCKING.includes(reason))) return rules ? [...errors, rulesNotRun()] : errors;
      return rules ? [...errors, ...runRules(rules, object, '', old)] : errors;
    },
  };
}

const rulesNotRun = () =>
  invalidValue(
    '<nil>',
    null,
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  );

const newDuplicates = (schema: Schema, object: unknown, old: unknown): FieldError[] =>
  validateUniqueness(schema, old, '').length ? [] : validateUniqueness(schema, object, '');

function prune(schema: Schema, value: unknown, path: string): string[] {
  const { items } = schema;
  if (Array.isArray(value)) return items ? value.flatMap((item, at) => prune(items, item, `${path}[${at}]`)) : [];
  return isObject(value) ? pruneObject(schema, value, path) : [];
}

function pruneObject(schema: Schema, object: Record<string, unknown>, path: string, keep: readonly string[] = []): string[] {
  return Object.keys(object).flatMap((key) => {
    if (keep.includes(key)) return [];
    const known = childSchema(schema, key);
    if (known) return prune(known, object[key], childPath(path, key));
    if (schema['x-kubernetes-preserve-unknown-fields']) return [];
    delete object[key];
    return [childPath(path, key)];
  });
}

const childSchema = ({ properties, additionalProperties }: Schema, key: string) => properties?.get(key) ?? additionalProperties;

function dropNulls(schema: Schema, value: unknown): void {
  const { items } = schema;
  if (Array.isArray(value) && items) for (const item of value) dropNulls(items, item);
  if (!isObject(value)) return;
  for (const [key, entry] of Object.entries(value)) {
    const known = childSchema(schema, key);
    if (!known) continue;
    if (entry === null && !known.nullable && known.default === undefined) delete value[key];
    else dropNulls(known, entry);
  }
}

function setDefaults(schema: Schema, value: unknown): void {
  const { items, properties = new Map<string, Schema>() } = schema;
  if (Array.isArray(value) && items) for (const item of value) setDefaults(items, item);
  if (!isObject(value)) return;
  for (const [key, { default: preset, nullable }] of properties) {
    const isMissing = !Object.hasOwn(value, key) || (value[key] === null && !nullable);
    if (isMissing && preset !== undefined) value[key] = structuredClone(preset);
  }
  for (const [key, entry] of Object.entries(value)) {
    const known = childSchema(schema, key);
    if (known) setDefaults(known, entry);
  }
}

/** A default must itself be what the schema asks for, or every object that relies on it would be refused. */
function refuseBadDefaults(schema: Schema, path: string[]): void {
  if (schema.default !== undefined) {
    const unknown = prune(schema, structuredClone(schema.default), '').map((field) => `${field} is unknown`);
    const problems = [...unknown, ...validateValue(schema, schema.default, 'default').map(({ message }) => message)];
    if (problems.length) throw unenforceable([{ path: [...path, 'default'], problem: problems.join(', ') }]);
  }
  for (const [key, child] of schema.properties ?? []) refuseBadDefaults(child, [...path, 'properties', key]);
  if (schema.items) refuseBadDefaults(schema.items, [...path, 'items']);
  if (schema.additionalProperties) refuseBadDefaults(schema.additionalProperties, [...path, 'additionalProperties']);
}
