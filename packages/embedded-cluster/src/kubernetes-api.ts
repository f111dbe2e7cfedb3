/** The built-in kinds as the Kubernetes release publishes them. Source: `scripts/write-kubernetes-api.ts`. */

import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import type { JsonObject } from './objects.ts';

/** A field of a protobuf message. */
export interface MessageField {
  /** The member of the JSON. */
  name: string;
  /** A scalar, or the full name of a message. */
  type: string;
  repeats?: 'list' | 'map';
  /** The members of the message stand in the message around it. */
  isInline?: true;
  /** A zero or an empty text was set; in other fields it was left out. */
  isPointer?: true;
}

interface KubernetesApi {
  /** Schemas of OpenAPI v3 by name, such as `io.k8s.api.core.v1.Pod`. */
  schemas: Readonly<Record<string, JsonObject>>;
  /** Fields by their number, by the full name of the message, such as `k8s.io.api.core.v1.Pod`. */
  messages: Readonly<Record<string, Readonly<Record<string, MessageField>>>>;
  /** Types of Go that a schema does not tell, such as `v1.RestartPolicy`, by the name of the schema and the member. */
  goTypes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Structs of Go that are embedded in others, by the name of the schema and the member. Refusals have them in the path of the member. */
  embedded: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

let loaded: KubernetesApi | undefined;

/** Reads the file with the first question: 8 ms and 3 MB that most tests do without. */
export function kubernetesApi(): KubernetesApi {
  loaded ??= JSON.parse(brotliDecompressSync(readFileSync(new URL('kubernetes-api.json.br', import.meta.url))).toString()) as KubernetesApi;
  return loaded;
}

let names: Map<string, string> | undefined;
const kindKey = (group: unknown, version: unknown, kind: unknown) => `${group}/${version} ${kind}`;

/** Returns the name of the schema of a built-in kind. */
export function schemaNameOf({ group, version, kind }: { group: string; version: string; kind: string }): string | undefined {
  names ??= new Map(
    Object.entries(kubernetesApi().schemas).flatMap(([name, schema]) => {
      const kinds = (schema['x-kubernetes-group-version-kind'] ?? []) as { group: string; version: string; kind: string }[];
      return kinds.map((one) => [kindKey(one.group, one.version, one.kind), name] as const);
    }),
  );
  return names.get(kindKey(group, version, kind));
}

/** Returns the name of the schema that a schema refers to. */
export function referenceOf({ $ref, allOf }: JsonObject): string | undefined {
  const [only] = Array.isArray(allOf) ? (allOf as JsonObject[]) : [];
  const reference = $ref ?? only?.$ref;
  return typeof reference === 'string' ? reference.slice(reference.lastIndexOf('/') + 1) : undefined;
}

/** Returns the type of Go that a schema tells. */
export function goTypeOf(schema: JsonObject): string {
  const name = referenceOf(schema);
  const { type, format, items, additionalProperties } = schema;
  if (name !== undefined) return name.split('.').slice(-2).join('.');
  if (type === 'array') return `[]${goTypeOf(items as JsonObject)}`;
  if (type === 'object' && additionalProperties) return `map[string]${goTypeOf(additionalProperties as JsonObject)}`;
  if (type === 'boolean') return 'bool';
  if (type === 'number') return 'float64';
  if (format === 'byte') return '[]uint8';
  return String(type === 'integer' ? (format ?? 'int64') : type);
}
