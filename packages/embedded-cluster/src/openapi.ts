/**
 * OpenAPI v3, per group and version, as far as kubectl needs it: the schemas for `explain`, and paths that say that field validation is
 * done by the server.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
 */

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from './objects.ts';
import type { ResourceRegistry, ResourceType } from './resources.ts';

const metaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const text = (description: string) => ({ type: 'string', description });
const texts = (description: string) => ({ type: 'object', additionalProperties: { type: 'string' }, description });

const objectMetaSchema = {
  type: 'object',
  description: 'What all stored objects have in common.',
  properties: {
    name: text('Unique within its namespace and kind; cannot be changed.'),
    generateName: text('A prefix; the server appends a random part if name is left out.'),
    namespace: text('The scope of the name; cannot be changed.'),
    uid: text('Identity of this object in time and space. Set by the server.'),
    resourceVersion: text('Changes with every write; opaque. Set by the server.'),
    generation: { type: 'integer', format: 'int64', description: 'Counts the changes of the desired state. Set by the server.' },
    creationTimestamp: { ...text('When it was made. Set by the server.'), format: 'date-time' },
    deletionTimestamp: { ...text('When its deletion was asked for. Set by the server.'), format: 'date-time' },
    labels: texts('Keys and values to select by.'),
    annotations: texts('Keys and values that are not selected by.'),
    finalizers: { type: 'array', items: { type: 'string' }, description: 'Must be empty before the object goes.' },
    ownerReferences: { type: 'array', items: { type: 'object' }, description: 'Objects with which this one goes.' },
  },
};

const pathOf = ({ group, version }: { group: string; version: string }) => (group ? `apis/${group}/${version}` : `api/${version}`);

/** The documents by group and version. */
export function openAPIIndex(registry: ResourceRegistry) {
  const paths = [...new Set(registry.all().map(pathOf))].sort();
  return {
    paths: Object.fromEntries(
      paths.map((path) => {
        const hash = createHash('sha256')
          .update(JSON.stringify(openAPIDocument(registry, path)))
          .digest('hex')
          .slice(0, 32);
        return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }];
      }),
    ),
  };
}

/** Undefined if there is no such group and version; `path` as in the index. */
export function openAPIDocument(registry: ResourceRegistry, path: string) {
  const types = registry.all().filter((type) => pathOf(type) === path);
  if (types.length === 0) return undefined;
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.0' },
    paths: Object.fromEntries(types.map((type) => [objectPath(type), pathItem(type)])),
    components: {
      schemas: Object.fromEntries([...types.map((type) => [schemaName(type), kindSchema(type)] as const), [metaName, objectMetaSchema]]),
    },
  };
}

const schemaName = ({ group, version, kind }: ResourceType) =>
  [...(group || 'core.api.k8s.io').split('.').reverse(), version, kind].join('.');

const objectPath = (type: ResourceType) => `/${pathOf(type)}/${type.namespaced ? 'namespaces/{namespace}/' : ''}${type.resource}/{name}`;

const gvk = ({ group, version, kind }: ResourceType) => ({ group, version, kind });

function kindSchema(type: ResourceType): JsonObject {
  const { openAPISchema } = type;
  const properties = isJsonObject(openAPISchema.properties) ? openAPISchema.properties : {};
  return {
    ...openAPISchema,
    properties: {
      ...properties,
      apiVersion: text('The version of the shape of this object.'),
      kind: text('The kind of this object.'),
      metadata: { description: 'Name, labels and the like.', allOf: [{ $ref: `#/components/schemas/${metaName}` }], default: {} },
    },
    'x-kubernetes-group-version-kind': [gvk(type)],
  };
}

function pathItem(type: ResourceType) {
  const schema = { $ref: `#/components/schemas/${schemaName(type)}` };
  const extension = { 'x-kubernetes-group-version-kind': gvk(type) };
  const content = { 'application/json': { schema } };
  const responses = { 200: { description: 'OK', content } };
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string', uniqueItems: true },
  }));
  const patchTypes = ['application/json-patch+json', 'application/merge-patch+json'];
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
