/**
 * ResourceQuotas: what a namespace uses, and the refusal of what would exceed it. LimitRanges fill in requests and limits.
 *
 * @see https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import { quantityOf } from '@atrium/objects/quantity.ts';
import { qualified, StatusError } from '@atrium/objects/status.ts';
import type { Component } from './component.ts';
import { fill, objectIn } from './defaults.ts';
import { at, containersIn, type JsonObject, type KubernetesObject, objectsAt, type StoredObject } from './objects.ts';
import { type Backend, collectionOf, type ResourceType } from './resources.ts';

const quotas = '/resourcequotas';
const amount = (value: unknown) => quantityOf(String(value ?? '')) ?? 0;

/** Returns the path of a resource of containers, such as `requests.cpu`, which a quota also names `cpu`. */
const containerPath = (name: string) => (name === 'cpu' || name === 'memory' ? `requests.${name}` : name);

/** Returns how much of a resource of a quota an object uses. */
function usageOf(name: string, type: Pick<ResourceType, 'group' | 'resource'>, { spec }: KubernetesObject): number {
  const path = containerPath(name);
  if (name === type.resource || name === `count/${qualified(type)}`) return 1;
  if (type.resource === 'persistentvolumeclaims') return amount(name === 'requests.storage' && at(spec, 'resources.requests.storage'));
  if (type.resource !== 'pods' || !/^(requests|limits)\./.test(path)) return 0;
  return objectsAt(spec, 'containers').reduce((sum, container) => sum + amount(at(container.resources, path)), 0);
}

/** Pods at their end use nothing. */
const counts = (object: KubernetesObject) => !['Succeeded', 'Failed'].includes(String(at(object, 'status.phase')));

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

const hardOf = (quota: StoredObject) => (at(quota, 'spec.hard') ?? {}) as Readonly<Record<string, string>>;

export function reconcileQuota(component: Component, quota: StoredObject): undefined {
  const used = [...usedOf(component.backend, quota)].map(([name, value]) => [name, text(value, name)] as const);
  component.setStatus(quotas, quota, { hard: hardOf(quota), used: Object.fromEntries(used) });
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
  for (const quota of backend.store.list(quotas, { namespace: object.metadata.namespace }) ?? []) {
    const hard = hardOf(quota);
    const names = Object.keys(hard).sort();
    const missing = type.resource === 'pods' ? names.flatMap((name) => missingAmounts(name, object)) : [];
    if (missing.length > 0) throw refusal(type, object, `failed quota: ${quota.metadata.name}: must specify ${missing.join('; ')}`);
    const requested = new Map(names.map((name) => [name, usageOf(name, type, object)]));
    const of = (amounts: ReadonlyMap<string, number>, name: string) => amounts.get(name) ?? 0;
    const asked = names.filter((name) => of(requested, name) > 0);
    const used = asked.length > 0 ? usedOf(backend, quota) : requested;
    const over = asked.filter((name) => of(used, name) + of(requested, name) > amount(hard[name]));
    if (over.length === 0) continue;
    const list = (amounts: ReadonlyMap<string, number>) => over.map((name) => `${name}=${text(of(amounts, name), name)}`).join(',');
    const limits = over.map((name) => `${name}=${hard[name]}`).join(',');
    const why = `requested: ${list(requested)}, used: ${list(used)}, limited: ${limits}`;
    throw refusal(type, object, `exceeded quota: ${quota.metadata.name}, ${why}`);
  }
}

/** A quota of CPU or memory asks each container for its share. */
function missingAmounts(name: string, { spec }: StoredObject): string[] {
  const path = containerPath(name);
  if (!/^\w+\.(cpu|memory)$/.test(path)) return [];
  const lacking = containersIn(spec).filter((container) => at(container.resources, path) === undefined);
  return lacking.length === 0 ? [] : [`${name} for: ${lacking.map((container) => container.name).join(',')}`];
}

const refusal = (type: ResourceType, { metadata: { name } }: StoredObject, why: string) =>
  new StatusError(403, 'Forbidden', `${qualified(type)} "${name}" is forbidden: ${why}`, {
    details: { name, ...(type.group && { group: type.group }), kind: type.resource },
  });

function fillLimits({ store }: Backend, object: KubernetesObject): void {
  const ranges = store.list('/limitranges', { namespace: object.metadata.namespace }) ?? [];
  const limits = ranges.flatMap((range) => objectsAt(range, 'spec.limits')).filter(({ type }) => type === 'Container');
  for (const container of containersIn(object.spec))
    for (const limit of limits) {
      const resources = objectIn(container, 'resources');
      // Limits of a container are its requests, unless it names requests of its own.
      fill(resources, {
        requests: { ...(limit.defaultRequest as JsonObject | undefined), ...(resources.limits as JsonObject | undefined) },
      });
      fill(resources, { limits: limit.default ?? {} });
    }
}
