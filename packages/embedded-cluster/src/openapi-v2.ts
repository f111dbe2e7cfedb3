/**
 * OpenAPI v2, one document for all groups, in JSON and in the protobuf of gnostic. kubectl validates a `List` by it, on its own side, and
 * falls back to it where a server has no v3.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2
 */
import { isJsonObject, type JsonObject } from './objects.ts';
import { openAPIDocument, openAPIIndex } from './openapi.ts';
import { encodeDocument } from './openapi-v2-protobuf.ts';
import type { ResourceRegistry } from './resources.ts';

/** Returns the document of all groups. */
export function openAPIV2(registry: ResourceRegistry): JsonObject {
  const [paths, definitions]: [JsonObject, JsonObject] = [{}, {}];
  for (const path of Object.keys(openAPIIndex(registry).paths)) {
    const part = openAPIDocument(registry, path);
    for (const [address, item] of Object.entries(part?.paths ?? {})) paths[address] = withoutContent(item);
    for (const [name, schema] of Object.entries(part?.components.schemas ?? {})) definitions[name] = olderSchema(schema);
  }
  return { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1.36.0' }, paths, definitions };
}

/** Returns the media type of an answer, and its bytes. */
export function openAPIV2Answer(registry: ResourceRegistry, accept: string | undefined): [mediaType: string, bytes: Buffer] {
  const found = openAPIV2(registry);
  const isProtobuf = /application\/com\.github\.proto-openapi\.spec\.v2(@v1\.0|\.v1)\+protobuf/.test(accept ?? '');
  if (isProtobuf) return ['application/com.github.proto-openapi.spec.v2.v1+protobuf', encodeDocument(found)];
  return ['application/json', Buffer.from(JSON.stringify(found))];
}

/** Returns a path with parameters and responses in the form of v2, which names media types apart from schemas. */
function withoutContent(item: JsonObject): JsonObject {
  const operation = (value: unknown) => {
    if (!isJsonObject(value) || !isJsonObject(value.responses)) return value;
    const { requestBody: _body, ...rest } = value;
    return { ...rest, parameters: parametersOf(value.parameters), responses: { 200: { description: 'OK' } } };
  };
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, name === 'parameters' ? parametersOf(value) : operation(value)]),
  );
}

/** Types of parameters stand beside their names. */
const parametersOf = (parameters: unknown) =>
  (Array.isArray(parameters) ? (parameters as JsonObject[]) : []).map(({ schema, ...rest }) => ({ ...rest, ...(schema as JsonObject) }));

/** Keywords that v2 does not know. */
const newer = ['allOf', 'anyOf', 'oneOf', 'not', 'nullable'];

/**
 * Returns a schema of v3 in the words of v2. A value that may be of several types, or null, has no type: a client that does not know better
 * would refuse it.
 */
function olderSchema(schema: unknown): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { properties, items, additionalProperties, type, ...given } = schema;
  const rest = Object.fromEntries(Object.entries(given).filter(([key]) => !newer.includes(key)));
  const [only] = Array.isArray(schema.allOf) ? (schema.allOf as JsonObject[]) : [];
  const reference = schema.$ref ?? only?.$ref;
  if (typeof reference === 'string') return { ...rest, $ref: reference.replace('#/components/schemas/', '#/definitions/') };
  if (Array.isArray(schema.oneOf)) return { ...rest, type: 'string' };
  if (schema.nullable === true || schema['x-kubernetes-preserve-unknown-fields'] === true || (type === 'array' && items === undefined))
    return rest;
  return {
    ...rest,
    ...(type !== undefined && { type }),
    ...(isJsonObject(properties) && { properties: schemasIn(properties) }),
    ...(isJsonObject(additionalProperties) && { additionalProperties: olderSchema(additionalProperties) }),
    ...(isJsonObject(items) && { items: olderSchema(items) }),
  };
}

const schemasIn = (properties: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, olderSchema(schema)]));
