/** Kubernetes objects as the embedded cluster holds them: plain JSON, frozen once stored. */

import { z } from 'zod';

const ownerReference = z.object({
  // Missing parts are refused by validation, together with all else that is wrong.
  apiVersion: z.string().default(''),
  kind: z.string().default(''),
  name: z.string().default(''),
  uid: z.string().default(''),
  controller: z.boolean().exactOptional(),
  blockOwnerDeletion: z.boolean().exactOptional(),
});

/** `metadata` as a client may send it; fields that are not named here are dropped, as ObjectMeta is a closed type upstream. */
export const objectMeta = z.object({
  name: z.string().exactOptional(),
  generateName: z.string().exactOptional(),
  namespace: z.string().exactOptional(),
  uid: z.string().exactOptional(),
  resourceVersion: z.string().exactOptional(),
  generation: z.number().exactOptional(),
  creationTimestamp: z.string().exactOptional(),
  deletionTimestamp: z.string().exactOptional(),
  deletionGracePeriodSeconds: z.number().exactOptional(),
  labels: z.record(z.string(), z.string()).exactOptional(),
  annotations: z.record(z.string(), z.string()).exactOptional(),
  ownerReferences: z.array(ownerReference).exactOptional(),
  finalizers: z.array(z.string()).exactOptional(),
  managedFields: z.array(z.record(z.string(), z.unknown())).exactOptional(),
});

export type ObjectMeta = z.infer<typeof objectMeta>;

/** An object as it comes in or goes out. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** An object that was written once: it has a name, an identity and a version. */
export interface StoredObject extends KubernetesObject {
  metadata: ObjectMeta & { name: string; uid: string; resourceVersion: string; creationTimestamp: string };
}

export type JsonObject = Record<string, unknown>;

export const isJsonObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** The value at a path of keys and list indexes, undefined where the path leads nowhere. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (Array.isArray(current)) current = current[Number(key)];
    else if (isJsonObject(current) && Object.hasOwn(current, key)) current = current[key];
    else return undefined;
  }
  return current;
}

/** Returns the value at a dotted path. */
export const at = (value: unknown, path: string): unknown => valueAt(value, path.split('.'));

/** Returns the objects of a list at a dotted path, none without a list. */
export function objectsAt(value: unknown, path: string): JsonObject[] {
  const list = at(value, path);
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** `namespace/name`, or the name alone at the cluster scope. Sorted as text this is the order of lists. */
export const objectKey = (namespace: string | undefined, name: string) => (namespace ? `${namespace}/${name}` : name);

export const keyOf = (object: StoredObject) => objectKey(object.metadata.namespace, object.metadata.name);

/** Returns the init containers and the containers of the spec of a pod. */
export const containersIn = (spec: unknown) => [...objectsAt(spec, 'initContainers'), ...objectsAt(spec, 'containers')];

export const controllerOf = ({ metadata }: KubernetesObject) => metadata.ownerReferences?.find(({ controller }) => controller === true);

/** Kubernetes keeps times in whole seconds. */
export const timestamp = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;
