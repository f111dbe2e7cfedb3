/**
 * ResourceQuotas: what a namespace uses, and the refusal of what would exceed it. LimitRanges fill in requests and limits.
 *
 * @see https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */

import { quantityOf } from '../../../../src/api/printed-value.ts';
import { StatusError } from '../../../../src/api/status.ts';
import type { Component } from '../component.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject, valueAt } from '../objects.ts';
import type { Backend } from '../resources.ts';
import { collectionOf, type ResourceType } from '../resources.ts';
import { containersIn, fill, listIn, objectIn, specOf } from './kind-rules.ts';
import { collections } from './shapes.ts';

/** Resources of containers that a quota names without `requests.`. */
const short: Readonly<Record<string, string>> = { cpu: 'requests.cpu', memory: 'requests.memory' };

const amount = (value: unknown) => quantityOf(String(value ?? '')) ?? 0;

/** Returns how much of a resource of a quota an object uses. */
function usageOf(name: string, { group, resource }: Pick<ResourceType, 'group' | 'resource'>, object: KubernetesObject): number {
  if (name === resource || name === `count/${resource}${group && `.${group}`}`) return 1;
  if (resource === 'persistentvolumeclaims' && name === 'requests.storage')
    return amount(valueAt(object.spec, ['resources', 'requests', 'storage']));
  const [member = '', unit = ''] = (short[name] ?? name).split('.');
  if (resource !== 'pods' || (member !== 'requests' && member !== 'limits')) return 0;
  const amounts = listIn(isJsonObject(object.spec) ? object.spec : {}, 'containers').map((one) => valueAt(one.resources, [member, unit]));
  return amounts.reduce((sum: number, one) => sum + amount(one), 0);
}

/** Pods at their end use nothing. */
const counts = ({ status }: KubernetesObject) => !['Succeeded', 'Failed'].includes(String(valueAt(status, ['phase'])));

/** Writes an amount in the unit of its limit, as far as that is exact. */
function text(value: number, name: string): string {
  if (/cpu$/.test(name)) return Number.isInteger(value) ? String(value) : `${Math.round(value * 1000)}m`;
  const units = /memory$|storage$/.test(name) ? ['Gi', 'Mi', 'Ki'] : [];
  const unit = value > 0 ? units.find((one) => value % amount(`1${one}`) === 0) : undefined;
  return unit === undefined ? String(value) : `${value / amount(`1${unit}`)}${unit}`;
}

/** Counts what a namespace uses of the resources of a quota. */
function usedOf({ store, registry }: Pick<Backend, 'store' | 'registry'>, quota: StoredObject): Map<string, number> {
  const { namespace } = quota.metadata;
  const names = Object.keys(hardOf(quota));
  const used = new Map(names.map((name) => [name, 0]));
  for (const type of registry.all().filter((one) => one.namespaced && !one.computed))
    for (const object of (store.list(collectionOf(type), { namespace }) ?? []).filter(counts))
      for (const name of names) used.set(name, (used.get(name) ?? 0) + usageOf(name, type, object));
  return used;
}

const hardOf = ({ spec }: StoredObject): Readonly<Record<string, string>> => {
  const hard = valueAt(spec, ['hard']);
  return isJsonObject(hard) ? (hard as Record<string, string>) : {};
};

export function reconcileQuota(component: Component, backend: Backend, key: string): undefined {
  const quota = component.get(collections.quotas, key);
  if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return undefined;
  const used = [...usedOf(backend, quota)].map(([name, value]) => [name, text(value, name)] as const);
  component.setStatus(collections.quotas, quota, { hard: hardOf(quota), used: Object.fromEntries(used) });
  return undefined;
}

/** Adds the checks of quotas, and the defaults of LimitRanges, to a kind. */
export function limited(backend: Backend, type: ResourceType): ResourceType {
  if (!type.namespaced || type.computed) return type;
  return {
    ...type,
    prepare(object, old, request) {
      if (old === undefined && type.resource === 'pods') fillLimits(backend, object);
      type.prepare?.(object, old, request);
    },
    admit(object, old, request) {
      type.admit?.(object, old, request);
      if (old === undefined) checkQuotas(backend, type, object);
    },
  };
}

/** @throws StatusError 403 in the words of kube-apiserver */
function checkQuotas(backend: Backend, type: ResourceType, object: StoredObject): void {
  for (const quota of backend.store.list(collections.quotas, { namespace: object.metadata.namespace }) ?? []) {
    const hard = hardOf(quota);
    const requested = Object.keys(hard)
      .sort()
      .map((name) => ({ name, value: usageOf(name, type, object) }));
    if (type.resource === 'pods') requireAmounts(type, object, quota);
    if (requested.every(({ value }) => value === 0)) continue;
    const used = usedOf(backend, quota);
    const over = requested.filter(({ name, value }) => value > 0 && (used.get(name) ?? 0) + value > amount(hard[name]));
    if (over.length === 0) continue;
    const list = (of: (name: string, value: number) => string) => over.map(({ name, value }) => `${name}=${of(name, value)}`).join(',');
    const [asked, taken] = [list((name, value) => text(value, name)), list((name) => text(used.get(name) ?? 0, name))];
    const why = `exceeded quota: ${quota.metadata.name}, requested: ${asked}, used: ${taken}, limited: ${list((name) => hard[name] ?? '')}`;
    throw refusal(type, object, why);
  }
}

/** A quota of CPU or memory asks each container for its share. */
function requireAmounts(type: ResourceType, object: StoredObject, quota: StoredObject): void {
  const missing = Object.keys(hardOf(quota))
    .sort()
    .flatMap((name) => {
      const [member = '', unit = ''] = (short[name] ?? name).split('.');
      if (!['cpu', 'memory'].includes(unit)) return [];
      const lacking = containersIn(specOf(object)).filter((one) => valueAt(one.resources, [member, unit]) === undefined);
      return lacking.length === 0 ? [] : [`${name} for: ${lacking.map((one) => one.name).join(',')}`];
    });
  if (missing.length > 0) throw refusal(type, object, `failed quota: ${quota.metadata.name}: must specify ${missing.join('; ')}`);
}

const refusal = ({ group, resource }: ResourceType, { metadata: { name } }: StoredObject, why: string) =>
  new StatusError(403, 'Forbidden', `${resource}${group && `.${group}`} "${name}" is forbidden: ${why}`, {
    details: { name, ...(group && { group }), kind: resource },
  });

function fillLimits({ store }: Backend, object: KubernetesObject): void {
  const ranges = store.list(collections.limitRanges, { namespace: object.metadata.namespace }) ?? [];
  const limits = ranges.flatMap(({ spec }) => listIn(isJsonObject(spec) ? spec : {}, 'limits')).filter(({ type }) => type === 'Container');
  for (const container of containersIn(specOf(object)))
    for (const limit of limits) {
      const resources = objectIn(container, 'resources');
      // Limits of a container are its requests, unless it names requests of its own.
      fill(objectIn(resources, 'requests'), {
        ...((limit.defaultRequest ?? {}) as JsonObject),
        ...((resources.limits ?? {}) as JsonObject),
      });
      fill(objectIn(resources, 'limits'), (limit.default ?? {}) as JsonObject);
    }
}
