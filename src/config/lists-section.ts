import { isShowable, parseJSONPath } from '@atrium/objects/json-path.ts';
import { z } from 'zod';
import { isUnique } from './units.ts';

/** Resources of the service that hold no sealed data and no credentials. */
const ownListed = ['users', 'groups', 'userbindings'];
const ownGroup = 'auth.platform.io';

const isListable = ({ group, resource }: { group: string; resource: string }) =>
  group === ownGroup ? ownListed.includes(resource) : group !== '' || resource !== 'secrets';

/** Names of the columns that every row has. */
const commonNames = ['name', 'namespace', 'uid', 'creationTimestamp', 'labels', 'owner'];

const pathOf = (text: string) => parseJSONPath(text, { hasWholeNames: true });

const column = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][A-Za-z0-9]{0,62}$/, 'must be a name in camel case, of letters and digits')
    .refine((name) => !commonNames.includes(name) && name !== 'a' && name !== 'd', 'must not be one that every row has, nor a or d')
    .describe('Name of the column in filters, order and answers.'),
  jsonPath: z
    .string()
    .max(256)
    .refine((text) => pathOf(text) !== undefined, 'must be a JSON path as printer columns have it, such as .status.phase')
    .refine((text) => {
      const path = pathOf(text);
      return path === undefined || isShowable(path);
    }, 'must not lead into data, binaryData, stringData, env, managedFields or the last applied configuration, nor have * as a member or ..')
    .describe('JSON path of the value, as in a printer column. Objects are never shown, several texts with commas between.'),
  type: z.enum(['string', 'number', 'date', 'boolean']).default('string').describe('Type for comparison and order.'),
});

const resource = z
  .strictObject({
    group: z
      .string()
      .max(253)
      .regex(/^[a-z0-9.-]*$/, 'must be an API group; empty for the core group')
      .default('')
      .describe('API group; empty for the core group.'),
    version: z
      .string()
      .regex(/^v[0-9]+((alpha|beta)[0-9]+)?$/, 'must be an API version such as v1')
      .describe('API version.'),
    resource: z
      .string()
      .max(63)
      .regex(/^[a-z0-9-]+$/, 'must be the plural of a resource, such as pods')
      .describe('Plural of the resource.'),
    columns: z
      .array(column)
      .max(32)
      .refine((columns) => isUnique(columns.map(({ name }) => name)), 'must not hold a name twice')
      .default([])
      .describe('Columns beside those of the resource; one of the same name replaces it.'),
    maxObjects: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .default(200_000)
      .describe('With more objects, the list is 503, so that memory stays bounded.'),
  })
  .refine(isListable, 'must not be secrets, nor a resource of auth.platform.io other than users, groups and userbindings');

const noPreset = 'none';

/** The most frequently used resources. The chart repeats them (`workload-lists.yaml`). */
export const workloads: readonly ListedResource[] = [
  ...['pods', 'services', 'configmaps', 'nodes', 'namespaces', 'persistentvolumeclaims', 'events'].map((plural) => ['', plural] as const),
  ...['deployments', 'statefulsets', 'daemonsets'].map((plural) => ['apps', plural] as const),
  ...['jobs', 'cronjobs'].map((plural) => ['batch', plural] as const),
  ['networking.k8s.io', 'ingresses'] as const,
].map(([group, plural]) => resource.parse({ group, version: 'v1', resource: plural }));

export const listsSection = z.strictObject({
  preset: z
    .enum([noPreset, 'workloads'])
    .default(noPreset)
    .describe(
      '`workloads`: lists pods, deployments, statefulsets, daemonsets, jobs, cronjobs, services, ingresses, configmaps, nodes, namespaces, persistentvolumeclaims and events too. An entry of `resources` overrides its entry.',
    ),
  resources: z
    .array(resource)
    .max(64)
    .refine(
      (resources) => isUnique(resources.map(({ group, version, resource: plural }) => `${group}/${version}/${plural}`)),
      'must not hold a resource twice',
    )
    .default([])
    .describe(
      'Resources that the service watches, and lists to callers who may list them ([lists](lists.md)). The account of the service needs `list` and `watch` on each.',
    ),
});

type ListsSection = z.output<typeof listsSection>;

/** Appends the resources of the preset to the configured ones. */
export function withPreset({ preset, resources }: ListsSection): ListsSection {
  if (preset === noPreset) return { preset, resources };
  const isNamed = (one: ListedResource) => resources.some((named) => named.group === one.group && named.resource === one.resource);
  return { preset, resources: [...resources, ...workloads.filter((one) => !isNamed(one))] };
}

export type ListedResource = z.output<typeof resource>;
