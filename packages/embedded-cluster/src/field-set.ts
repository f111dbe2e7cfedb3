/**
 * Fields of an object by their paths, as server-side apply sees them: items of a list of type map by their keys, items of a set by their
 * values, and an atomic list or map as one field.
 *
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
import { isDeepStrictEqual } from 'node:util';
import { kubernetesApi, schemaNameOf } from './kubernetes-api.ts';
import { isJsonObject, type JsonObject } from './objects.ts';
import type { ResourceType } from './resources.ts';

/** Steps of a path in the notation of `fieldsV1`: `f:name`, `k:{"name":"web"}`, `v:"text"`, and `.` for an item itself. */
type Steps = readonly string[];

interface Field {
  steps: Steps;
  value: unknown;
}

/** Fields by the JSON of their steps. */
export type Fields = ReadonlyMap<string, Field>;

const metadataSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
/** Members that the server sets, or that identify the object. */
const unowned = new Set(
  ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'managedFields'].concat([
    'deletionGracePeriodSeconds',
    'selfLink',
    'generateName',
  ]),
);

/** Returns the schema of a kind. A CustomResourceDefinition does not describe metadata. */
export function rootSchema(type: ResourceType): JsonObject {
  const name = type.isCustom ? undefined : schemaNameOf(type);
  const schema = (name === undefined ? undefined : kubernetesApi().schemas[name]) ?? type.openAPISchema;
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return { ...schema, properties: { ...properties, metadata: kubernetesApi().schemas[metadataSchema] } };
}

/** Follows a reference to a built-in type. */
function resolved(schema: unknown): JsonObject {
  if (!isJsonObject(schema)) return {};
  const [only] = Array.isArray(schema.allOf) ? schema.allOf : [];
  const reference = schema.$ref ?? (isJsonObject(only) ? only.$ref : undefined);
  if (typeof reference !== 'string') return schema;
  return kubernetesApi().schemas[reference.slice(reference.lastIndexOf('/') + 1)] ?? {};
}

const member = ({ properties, additionalProperties }: JsonObject, key: string): JsonObject =>
  resolved(isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties);

/** Returns the step to an item of a list of type map or set; undefined for an atomic list. */
function itemStep(schema: JsonObject, item: unknown): string | undefined {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return `v:${JSON.stringify(item)}`;
  const keys = schema['x-kubernetes-list-map-keys'];
  if (type !== 'map' || !Array.isArray(keys) || !isJsonObject(item)) return undefined;
  const items = resolved(schema.items);
  const preset = (key: string) => member(items, key).default;
  return `k:${JSON.stringify(Object.fromEntries(keys.map((key: string) => [key, item[key] ?? preset(key) ?? null])))}`;
}

const isGranular = (schema: JsonObject): boolean =>
  schema['x-kubernetes-map-type'] !== 'atomic' && ['map', 'set', undefined].includes(schema['x-kubernetes-list-type'] as undefined);

/**
 * Returns the owned fields of an object.
 *
 * @param subresource `status` for the status alone; otherwise it is left out if it has an endpoint of its own
 */
export function fieldsOf(type: ResourceType, object: JsonObject, subresource?: string): Fields {
  const fields = new Map<string, Field>();
  const schema = rootSchema(type);
  const isOwned = (key: string) =>
    subresource === 'status' ? key === 'status' : key !== 'apiVersion' && key !== 'kind' && !(key === 'status' && type.hasStatus);
  for (const [key, value] of Object.entries(object)) {
    if (!isOwned(key)) continue;
    if (key !== 'metadata') collect(fields, member(schema, key), value, [`f:${key}`]);
    else if (isJsonObject(value))
      for (const [name, part] of Object.entries(value))
        if (!unowned.has(name)) collect(fields, member(member(schema, key), name), part, [`f:${key}`, `f:${name}`]);
  }
  return fields;
}

function collect(fields: Map<string, Field>, schema: JsonObject, value: unknown, steps: Steps): void {
  if (isJsonObject(value) && isGranular(schema) && Object.keys(value).length > 0) {
    for (const [key, part] of Object.entries(value)) collect(fields, member(schema, key), part, [...steps, `f:${key}`]);
    return;
  }
  const names = Array.isArray(value) ? value.map((item) => itemStep(schema, item)) : [];
  if (names.length === 0 || names.includes(undefined)) {
    fields.set(JSON.stringify(steps), { steps, value });
    return;
  }
  for (const [index, item] of (value as unknown[]).entries()) {
    const path = [...steps, names[index] ?? ''];
    const items = resolved(schema.items);
    const hasFields = isJsonObject(item) && isGranular(items);
    const own = hasFields ? [...path, '.'] : path;
    fields.set(JSON.stringify(own), { steps: own, value: hasFields || item });
    if (hasFields) collect(fields, items, item, path);
  }
}

/** Returns the fields of `now` that `before` lacks or has with another value. */
export const changed = (before: Fields, now: Fields): Fields =>
  new Map([...now].filter(([path, { value }]) => !before.has(path) || !isDeepStrictEqual(before.get(path)?.value, value)));

/** Returns `current` with the fields of `applied`. Neither is changed. */
export function merged(schema: JsonObject, current: unknown, applied: unknown): unknown {
  if (isJsonObject(applied) && isJsonObject(current) && isGranular(schema)) {
    const parts = Object.entries(applied).map(([key, value]) => [key, merged(member(schema, key), current[key], value)]);
    return { ...current, ...Object.fromEntries(parts) };
  }
  if (!Array.isArray(applied) || !Array.isArray(current)) return applied;
  const names = applied.map((item) => itemStep(schema, item));
  if (names.includes(undefined)) return applied;
  const old = new Map(current.map((item) => [itemStep(schema, item), item]));
  const items = applied.map((item, index) => merged(resolved(schema.items), old.get(names[index]), item));
  return [...items, ...current.filter((item) => !names.includes(itemStep(schema, item)))];
}

/** Returns `value` without the fields of these paths. An item of a list goes with its last owned field. */
export function without(schema: JsonObject, value: unknown, gone: ReadonlySet<string>, steps: Steps = []): unknown {
  const isGone = (path: Steps) => gone.has(JSON.stringify(path));
  if (isJsonObject(value)) {
    const kept = Object.entries(value)
      .filter(([key]) => !isGone([...steps, `f:${key}`]))
      .map(([key, part]) => [key, part, without(member(schema, key), part, gone, [...steps, `f:${key}`])] as const)
      // A map that loses its last member goes with it.
      .filter(([, before, after]) => !isEmptied(before, after));
    return Object.fromEntries(kept.map(([key, , after]) => [key, after]));
  }
  if (!Array.isArray(value)) return value;
  return value.flatMap((item) => {
    const path = [...steps, itemStep(schema, item) ?? ''];
    if (isGone(path) || isGone([...path, '.'])) return [];
    return [without(resolved(schema.items), item, gone, path)];
  });
}

const isEmptied = (before: unknown, after: unknown): boolean => {
  const size = (value: unknown) => (isJsonObject(value) || Array.isArray(value) ? Object.keys(value).length : undefined);
  return size(after) === 0 && size(before) !== 0;
};

/** Returns the paths as `fieldsV1`. */
export function fieldsV1(paths: Iterable<string>): JsonObject {
  const tree: JsonObject = {};
  for (const path of paths) {
    let node = tree;
    for (const step of JSON.parse(path) as string[]) {
      const next = isJsonObject(node[step]) ? node[step] : {};
      node[step] = next;
      node = next;
    }
  }
  return tree;
}

/** Returns the paths of `fieldsV1`: its leaves, and the items that it names by `.`. */
export function pathsOf(tree: unknown, steps: Steps = []): string[] {
  if (!isJsonObject(tree)) return [];
  const entries = Object.entries(tree);
  if (entries.length === 0) return steps.length > 0 ? [JSON.stringify(steps)] : [];
  return entries.flatMap(([step, part]) => pathsOf(part, [...steps, step]));
}

/** Formats a path as in the causes of a conflict: `.data.a`, `.spec.containers[name="web"].image`. */
export function fieldText(path: string): string {
  const text = (step: string) => {
    if (step === '.') return '';
    if (step.startsWith('f:')) return `.${step.slice(2)}`;
    if (!step.startsWith('k:')) return `[=${step.slice(2)}]`;
    const keys = Object.entries(JSON.parse(step.slice(2)) as JsonObject);
    return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
  };
  return (JSON.parse(path) as string[]).map(text).join('');
}
