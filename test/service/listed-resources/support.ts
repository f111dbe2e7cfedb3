/** Objects of the suites of lists: widgets and ConfigMaps in twelve shops, of which alice may list three. */
import { type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';

export const shops = Array.from({ length: 12 }, (_, index) => `shop-${String(index).padStart(2, '0')}`);
export const ofAlice = ['shop-01', 'shop-04', 'shop-07'];
export const perShop = 4;

export const resources = [
  {
    version: 'v1',
    resource: 'configmaps',
    columns: [{ name: 'tier', jsonPath: ".metadata.annotations['example.com/tier']" }],
  },
  { version: 'v1', resource: 'events' },
  { version: 'v1', resource: 'namespaces' },
  { group: 'example.com', version: 'v1', resource: 'widgets' },
  { group: 'example.com', version: 'v1', resource: 'gadgets' },
];

export const widgetDefinition: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
        },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Current State', type: 'string', jsonPath: '.spec.state' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          { name: 'Hidden', type: 'string', jsonPath: '.spec.env' },
        ],
      },
    ],
  },
};

export const aConfigMap = (namespace: string, name: string, tier: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { suite: 'lists' }, annotations: { 'example.com/tier': tier } },
  data: { key: 'not for rows' },
});

export const aWidget = (namespace: string, name: string, spec: object): Manifest => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace },
  spec,
});

const anEvent = (namespace: string, name: string, about: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace, labels: { suite: 'lists' } },
  involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name: about },
  reason: 'Seen',
  message: `${about} was seen`,
  type: 'Normal',
});

const follows = (group: string, plurals: string[], verbs: string[], resourceNames?: string[]) => ({
  apiGroups: [group],
  resources: plurals,
  verbs,
  ...(resourceNames && { resourceNames }),
});

const definitionNames = ['widgets.example.com', 'gadgets.example.com'];

/** Permissions that the chart grants to the service account for these resources. */
const ofService = [
  aRole('lists-service', [
    follows('', ['configmaps', 'events'], ['list', 'watch']),
    follows('example.com', ['widgets', 'gadgets'], ['list', 'watch']),
    follows('apiextensions.k8s.io', ['customresourcedefinitions'], ['list', 'watch'], definitionNames),
  ]),
  aBinding('lists-service', { role: 'lists-service', to: `ServiceAccount:${serviceNamespace}/atrium` }),
];

const seen = ['configmaps', 'events', 'namespaces'];

export const objects: readonly Manifest[] = [
  ...shops.map((shop) => aNamespace(shop)),
  ...ofService,
  widgetDefinition,
  ...shops.flatMap((shop, at) =>
    Array.from({ length: perShop }, (_, index) =>
      aConfigMap(shop, `m${index}`, ofAlice.includes(shop) ? `tier-${index % 2}` : `other-${at}`),
    ),
  ),
  anEvent('shop-01', 'e0', 'web'),
  anEvent('shop-01', 'e1', 'web-2'),
  anEvent('shop-02', 'e2', 'web'),
  aRole('lists-viewer', [follows('', seen, ['list', 'watch']), follows('example.com', ['widgets', 'gadgets'], ['list', 'watch'])]),
  aBinding('lists-bob', { role: 'lists-viewer', to: 'User:bob' }),
  ...ofAlice.map((namespace) => aBinding('lists-alice', { role: 'lists-viewer', to: 'User:alice', namespace })),
  // A permission for single names, which allows no list.
  aRole('lists-one', [follows('', ['configmaps'], ['get', 'list'], ['m0'])], 'shop-02'),
  aBinding('lists-one', { role: 'lists-one', roleKind: 'Role', to: 'User:alice', namespace: 'shop-02' }),
];
