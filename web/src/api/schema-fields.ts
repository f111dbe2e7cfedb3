/** Fields of a schema of Kubernetes: OpenAPI v3 as kube-apiserver writes it for built-in kinds and for custom resources. */

export interface Schema {
  type?: string;
  format?: string;
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: readonly string[];
  allOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  default?: unknown;
  enum?: readonly unknown[];
  $ref?: string;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
}

/** Returns a schema by its name, such as `io.k8s.api.core.v1.PodSpec`. */
export type Resolve = (name: string) => Schema | undefined;

export interface Schemas {
  /** The schema of a kind. */
  root: Schema;
  resolve: Resolve;
}

/** An item of a list in a path of field names. */
export const item = 0;
export type Step = string | typeof item;

/** A schema that refers to itself ends there. */
const deepest = 12;
/** References that are followed for one schema: they may branch at each step. */
const mostReferences = 100;

const nameIn = (reference: string): string => reference.replace('#/components/schemas/', '');

/** Returns a schema with the members of those that it refers to; its own members win. */
export function resolved(schema: Schema | undefined, resolve: Resolve, left = { references: mostReferences }): Schema {
  if (schema === undefined || left.references === 0) return {};
  left.references -= 1;
  const { $ref, allOf = [], ...own } = schema;
  const bases = [...($ref ? [resolve(nameIn($ref))] : []), ...allOf].map((base) => resolved(base, resolve, left));
  if (bases.length === 0) return schema;
  const all = [...bases, own];
  const properties = Object.assign({}, ...all.map((one) => one.properties));
  const required = all.flatMap((one) => one.required ?? []);
  return Object.assign({}, ...all, { properties, required }) as Schema;
}

export interface Field {
  name: string;
  /** The type as kubectl explain prints it: `[]Container`, `map[string]string`. */
  type: string;
  description: string;
  isRequired: boolean;
  /** Values that the schema allows; empty for any. */
  values: readonly unknown[];
  shape: 'scalar' | 'object' | 'list';
}

export const isEither = ({ oneOf = [], anyOf = [], ...schema }: Schema): boolean =>
  schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string' || oneOf.length + anyOf.length > 1;

const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

function typeOf(schema: Schema | undefined, resolve: Resolve, depth = 0): string {
  if (schema === undefined || depth > deepest) return 'any';
  const found = resolved(schema, resolve);
  if (isEither(found)) {
    const types = [...(found.oneOf ?? []), ...(found.anyOf ?? [])].flatMap(({ type }) => type ?? []);
    return types.length > 1 ? types.join(' or ') : 'integer or string';
  }
  if (found.type === 'array' || found.items) return `[]${typeOf(found.items, resolve, depth + 1)}`;
  if (typeof found.additionalProperties === 'object') return `map[string]${typeOf(found.additionalProperties, resolve, depth + 1)}`;
  if (found.type !== undefined && found.type !== 'object') return found.type;
  const reference = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  return reference ? lastPart(nameIn(reference)) : (found.type ?? 'any');
}

function shapeOf(found: Schema): Field['shape'] {
  if (found.type === 'array' || found.items) return 'list';
  return !isEither(found) && (found.type === 'object' || Object.keys(found.properties ?? {}).length > 0) ? 'object' : 'scalar';
}

function fieldOf(name: string, schema: Schema, isRequired: boolean, resolve: Resolve): Field {
  const found = resolved(schema, resolve);
  const values = found.enum ?? (found.type === 'boolean' ? [true, false] : []);
  const { description = '' } = found;
  return { name, type: typeOf(schema, resolve), description, isRequired, values, shape: shapeOf(found) };
}

export function memberOf(parent: Schema, step: Step): Schema | undefined {
  if (step === item) return parent.items;
  const { properties = {}, additionalProperties } = parent;
  if (Object.hasOwn(properties, step)) return properties[step];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

const schemaAt = (root: Schema, path: readonly Step[], resolve: Resolve): Schema | undefined =>
  path.reduce<Schema | undefined>((schema, step) => schema && memberOf(resolved(schema, resolve), step), root);

/** Returns the field at a path; undefined if the schema does not describe it. */
export function fieldAt(root: Schema, path: readonly Step[], resolve: Resolve): Field | undefined {
  const [schema, last] = [schemaAt(root, path, resolve), path.at(-1)];
  if (schema === undefined || last === undefined) return undefined;
  const parent = resolved(schemaAt(root, path.slice(0, -1), resolve), resolve);
  return fieldOf(String(last), schema, last !== item && (parent.required ?? []).includes(last), resolve);
}

/** Returns the fields of the object at a path: required ones first, then by name. */
export function fieldsAt(root: Schema, path: readonly Step[], resolve: Resolve): Field[] {
  const { properties = {}, required = [] } = resolved(schemaAt(root, path, resolve), resolve);
  return Object.entries(properties)
    .map(([name, schema]) => fieldOf(name, schema, required.includes(name), resolve))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired) || (a.name < b.name ? -1 : 1));
}
