/**
 * OpenAPI v3, per group and version, as far as kubectl needs it: the schemas for `explain`, and paths that say that field validation is
 * done by the server.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
 */

import { hash } from 'node:crypto';
import { kubernetesApi, schemaNameOf } from './kubernetes-api.ts';
import { isJsonObject, type JsonObject } from './objects.ts';
import type { ResourceRegistry, ResourceType } from './resources.ts';

const prefix = '#/components/schemas/';
const metaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

const pathOf = ({ group, version }: { group: string; version: string }) => (group ? `apis/${group}/${version}` : `api/${version}`);

/** Returns the documents by group and version. */
export function openAPIIndex(registry: ResourceRegistry) {
  const paths = [...new Set(registry.all().map(pathOf))].sort();
  return {
    paths: Object.fromEntries(
      paths.map((path) => {
        // Schemas of built-in kinds never change, so that their names tell as much.
        const shapes = typesAt(registry, path).map((type) => [schemaName(type), builtInName(type) ?? type.openAPISchema]);
        return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash('sha256', JSON.stringify(shapes)).slice(0, 32)}` }];
      }),
    ),
  };
}

const typesAt = (registry: ResourceRegistry, path: string) => registry.all().filter((type) => pathOf(type) === path);

/** Undefined if there is no such group and version; `path` as in the index. */
export function openAPIDocument(registry: ResourceRegistry, path: string) {
  const types = typesAt(registry, path);
  if (types.length === 0) return undefined;
  const own = types.filter((type) => builtInName(type) === undefined).map((type) => [schemaName(type), kindSchema(type)] as const);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.0' },
    paths: Object.fromEntries(types.map((type) => [objectPath(type), pathItem(type)])),
    components: { schemas: { ...builtInSchemas([metaName, ...types.map(schemaName)]), ...Object.fromEntries(own) } },
  };
}

/** Returns schemas of built-in kinds and of all that they refer to. */
function builtInSchemas(wanted: readonly string[]): Record<string, JsonObject> {
  const { schemas } = kubernetesApi();
  const found = new Map<string, JsonObject>();
  const names = [...wanted];
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    const schema = schemas[name];
    if (schema === undefined || found.has(name)) continue;
    found.set(name, schema);
    names.push(...referencesIn(schema));
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isJsonObject(value)) return [];
  const { $ref } = value;
  return [...(typeof $ref === 'string' ? [$ref.slice(prefix.length)] : []), ...Object.values(value).flatMap(referencesIn)];
}

const builtInName = (type: ResourceType): string | undefined => (type.isCustom ? undefined : schemaNameOf(type));

const schemaName = (type: ResourceType): string =>
  builtInName(type) ?? [...(type.group || 'core.api.k8s.io').split('.').reverse(), type.version, type.kind].join('.');

const objectPath = (type: ResourceType) => `/${pathOf(type)}/${type.namespaced ? 'namespaces/{namespace}/' : ''}${type.resource}/{name}`;

const gvk = ({ group, version, kind }: ResourceType) => ({ group, version, kind });

function kindSchema(type: ResourceType): JsonObject {
  const { openAPISchema } = type;
  const properties = isJsonObject(openAPISchema.properties) ? openAPISchema.properties : {};
  return {
    ...openAPISchema,
    properties: {
      ...properties,
      apiVersion: { type: 'string', description: 'The version of the shape of this object.' },
      kind: { type: 'string', description: 'The kind of this object.' },
      metadata: { description: 'Name, labels and the like.', allOf: [{ $ref: `${prefix}${metaName}` }], default: {} },
    },
    'x-kubernetes-group-version-kind': [gvk(type)],
  };
}

function pathItem(type: ResourceType) {
  const schema = { $ref: `${prefix}${schemaName(type)}` };
  const extension = { 'x-kubernetes-group-version-kind': gvk(type) };
  const content = { 'application/json': { schema } };
  const responses = { 200: { description: 'OK', content } };
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string', uniqueItems: true },
  }));
  const patchTypes = ['json-patch', 'merge-patch', ...(type.isCustom ? [] : ['strategic-merge-patch'])]
    .map((name) => `application/${name}+json`)
    .concat('application/apply-patch+yaml');
  const operations: Readonly<Record<string, [verb: string, operation: object]>> = {
    get: ['get', {}],
    put: ['update', { parameters, requestBody: { content } }],
    patch: [
      'patch',
      {
        parameters,
        requestBody: { content: Object.fromEntries(patchTypes.map((mediaType) => [mediaType, { schema: { type: 'object' } }])) },
      },
    ],
    delete: ['delete', {}],
  };
  const served = Object.entries(operations).filter(([, [verb]]) => type.verbs.includes(verb));
  return {
    ...Object.fromEntries(
      served.map(([action, [, rest]]) => [action, { 'x-kubernetes-action': action, ...extension, ...rest, responses }]),
    ),
    parameters: [
      { name: 'name', in: 'path', required: true, schema: { type: 'string' } },
      ...(type.namespaced ? [{ name: 'namespace', in: 'path', required: true, schema: { type: 'string' } }] : []),
    ],
  };
}
