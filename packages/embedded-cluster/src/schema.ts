/**
 * Custom resources against their structural schema: unknown fields go, defaults come, the rest is checked. Independent of storage
 * and HTTP.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { compileRules, runRules } from './cel.ts';
import { compiledOnce } from './compiled.ts';
import { isJsonObject, type JsonObject } from './objects.ts';
import { parseSchema, type Schema } from './schema-definition.ts';
import { childPath, childSchema, validateValue } from './schema-values.ts';

export interface CompiledSchema {
  /** Removes unknown fields in place; returns their dotted paths, in order. */
  prune(object: JsonObject): string[];
  /** Fills in defaults in place; a null where none is allowed counts as absent. */
  applyDefaults(object: JsonObject): void;
  /** Everything that is wrong, empty if nothing is. With `old`, transition rules are run, and what was wrong before is left alone. */
  validate(object: JsonObject, old?: JsonObject): FieldError[];
}

/** These belong to the API server, at the root of every object. */
const ROOT_FIELDS = ['apiVersion', 'kind', 'metadata'];

/** While one of these stands, rules are not run: they could not rely on the schema. */
const BLOCKING = ['FieldValueNotSupported', 'FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid'];

/** @throws StatusError 422 on anything in the definition that cannot be enforced here */
export const compileSchema = (openAPIV3Schema: unknown): CompiledSchema => compileText(JSON.stringify(openAPIV3Schema) ?? '');

const compileText = compiledOnce((text): CompiledSchema => {
  const schema = parseSchema(text === '' ? undefined : JSON.parse(text));
  const rules = compileRules(schema);
  return {
    prune: (object) => pruneObject(schema, object, '', ROOT_FIELDS).sort(),
    applyDefaults: (object) => setDefaults(schema, object),
    validate: (object, old) => {
      const errors = validateValue(schema, object, '', old);
      if (!rules) return errors;
      return [...errors, ...(errors.some(({ reason }) => BLOCKING.includes(reason)) ? [rulesNotRun()] : runRules(rules, object, '', old))];
    },
  };
});

const rulesNotRun = () =>
  invalidValue(
    '<nil>',
    null,
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  );

function prune(schema: Schema, value: unknown, path: string): string[] {
  const { items } = schema;
  if (Array.isArray(value)) return items ? value.flatMap((item, at) => prune(items, item, `${path}[${at}]`)) : [];
  return isJsonObject(value) ? pruneObject(schema, value, path) : [];
}

function pruneObject(schema: Schema, object: JsonObject, path: string, keep: readonly string[] = []): string[] {
  return Object.keys(object).flatMap((key) => {
    if (keep.includes(key)) return [];
    const known = childSchema(schema, key);
    if (known) return prune(known, object[key], childPath(path, key));
    if (schema['x-kubernetes-preserve-unknown-fields']) return [];
    delete object[key];
    return [childPath(path, key)];
  });
}

function setDefaults(schema: Schema, value: unknown): void {
  const { items, properties = new Map<string, Schema>() } = schema;
  if (Array.isArray(value) && items) for (const item of value) setDefaults(items, item);
  if (!isJsonObject(value)) return;
  for (const [key, { default: preset, nullable }] of properties) {
    const isMissing = !Object.hasOwn(value, key) || (value[key] === null && !nullable);
    if (isMissing && preset !== undefined) value[key] = structuredClone(preset);
  }
  for (const [key, entry] of Object.entries(value)) {
    const known = childSchema(schema, key);
    if (entry === null && known && !known.nullable) delete value[key];
    else if (known) setDefaults(known, entry);
  }
}
