import { expect } from 'chai';
import type { ApiClient } from './api-client.ts';
import { eventually } from './eventually.ts';

/** A custom resource made for these suites: namespaced, with a status, defaults, columns, a selectable field and CEL rules. */
export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.conformance.example.com' },
  spec: {
    group: 'conformance.example.com',
    scope: 'Namespaced',
    names: {
      kind: 'Widget',
      plural: 'widgets',
      singular: 'widget',
      listKind: 'WidgetList',
      shortNames: ['wdg'],
      categories: ['conformance'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        selectableFields: [{ jsonPath: '.spec.color' }],
        additionalPrinterColumns: [
          { name: 'Color', type: 'string', jsonPath: '.spec.color', description: 'What it looks like.' },
          { name: 'Seen', type: 'date', jsonPath: '.spec.seen' },
          { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            'x-kubernetes-validations': [{ rule: "self.metadata.name != 'reserved'", message: 'the name is taken' }],
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                'x-kubernetes-validations': [{ rule: '!has(self.limit) || self.size <= self.limit', message: 'size is above limit' }],
                properties: {
                  size: { type: 'integer', minimum: 0, maximum: 1000 },
                  limit: { type: 'integer' },
                  ratio: { type: 'number', minimum: 0 },
                  color: { type: 'string', enum: ['red', 'green', 'blue'], default: 'red' },
                  code: { type: 'string', pattern: '^[A-Z]{3}$' },
                  title: { type: 'string', minLength: 2, maxLength: 8 },
                  seen: { type: 'string', format: 'date-time' },
                  big: { type: 'integer', format: 'int64' },
                  enabled: { type: 'boolean', default: true },
                  origin: {
                    type: 'string',
                    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'origin is immutable' }],
                  },
                  tags: { type: 'array', maxItems: 3, 'x-kubernetes-list-type': 'set', items: { type: 'string', maxLength: 8 } },
                  ports: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } },
                    },
                  },
                  nested: { type: 'object', properties: { flag: { type: 'boolean', default: false } } },
                  options: { type: 'object', additionalProperties: { type: 'integer' } },
                  extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  note: { type: 'string', nullable: true },
                },
              },
              status: {
                type: 'object',
                properties: {
                  phase: { type: 'string', enum: ['Pending', 'Ready'] },
                  observedGeneration: { type: 'integer', format: 'int64' },
                },
              },
            },
          },
        },
      },
    ],
  },
};

export const widgetsIn = (namespace: string) => `/apis/conformance.example.com/v1/namespaces/${namespace}/widgets`;

export function aWidget(name: string, spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
  return { apiVersion: 'conformance.example.com/v1', kind: 'Widget', metadata: { name, ...metadata }, spec: { size: 1, ...spec } };
}

/** Media types with which kubectl and the controllers request discovery. */
export const aggregatedDiscovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/** Creates the definition if it does not exist, and waits until its objects are served. */
export async function installDefinition(
  admin: ApiClient,
  definition: { metadata: { name: string }; spec: { group: string; names: { plural: string }; versions: { name: string }[] } },
): Promise<void> {
  const answer = await admin.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  if (answer.status !== 201 && answer.status !== 409) throw new Error(`${answer.status} ${answer.text}`);
  const { group, names, versions } = definition.spec;
  for (const version of versions) await eventually(() => admin.list(`/apis/${group}/${version.name}/${names.plural}`));
  // Each form of discovery is updated a moment later; controllers rely on it.
  const tells = (path: string, text: string, headers: Record<string, string> = {}) =>
    eventually(async () => expect((await admin.send('GET', path, { headers })).text).to.include(`"${text}"`));
  for (const version of versions) await tells(`/apis/${group}/${version.name}`, names.plural);
  await tells('/apis', group);
  await tells('/apis', group, { accept: aggregatedDiscovery });
}

export const aConfigMap = (name: string, data: Record<string, string> = { key: 'value' }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
