/**
 * Lifecycle of objects, as controllers of a cluster enforce it: dependents are deleted with their last owner, a namespace and a definition
 * once their contents are gone. Like there, it runs after the write: a client sees the deletion of an object before that of its dependents.
 *
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */

import { aggregateClusterRoles } from './aggregation.ts';
import { cleanupFinalizer, customResourceType } from './custom-resources.ts';
import { deleteObject } from './delete.ts';
import { keyOf, type StoredObject } from './objects.ts';
import type { Backend } from './resources.ts';
import { collectionOf, type ResourceType } from './resources.ts';
import type { Change } from './store.ts';

const definitions = 'apiextensions.k8s.io/customresourcedefinitions';
const namespaces = '/namespaces';
const clusterRoles = 'rbac.authorization.k8s.io/clusterroles';
const background = { policy: 'Background', isDryRun: false } as const;

interface Place {
  collection: string;
  key: string;
}

/** Follows every change of the store until it is stopped. */
export class Lifecycle {
  readonly #backend: Backend;
  readonly #unsubscribe: () => void;
  /** Place of each uid, and the objects that name it as an owner. */
  readonly #places = new Map<string, Place>();
  readonly #dependents = new Map<string, Map<string, Place>>();
  readonly #work: (() => void)[] = [];
  #scheduled: NodeJS.Immediate | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
    for (const collection of backend.store.collections) {
      for (const object of backend.store.list(collection) ?? []) this.#index(collection, object);
    }
    this.#unsubscribe = backend.store.subscribe((change) => this.#observe(change));
    this.#resume();
    aggregateClusterRoles(backend.store);
  }

  stop(): void {
    this.#unsubscribe();
    clearImmediate(this.#scheduled);
  }

  /** Resumes after a restart: finishes marked objects, and deletes objects that have lost their owners. */
  #resume(): void {
    for (const collection of this.#backend.store.collections) {
      for (const object of this.#backend.store.list(collection) ?? []) {
        const place = { collection, key: keyOf(object) };
        if (object.metadata.deletionTimestamp) this.#later(() => this.#finish(place));
        if (object.metadata.ownerReferences?.length) this.#later(() => this.#collectIfOrphaned(place));
      }
    }
  }

  #observe({ type, collection, object, previous }: Change): void {
    if (collection === clusterRoles) this.#later(() => aggregateClusterRoles(this.#backend.store));
    if (previous) this.#forget(previous);
    if (type === 'DELETED') {
      this.#later(() => this.#ownerGone(object.metadata.uid));
      this.#later(() => this.#containerSmaller(collection, object));
      return;
    }
    this.#index(collection, object);
    const place = { collection, key: keyOf(object) };
    if (object.metadata.ownerReferences?.length) this.#later(() => this.#collectIfOrphaned(place));
    if (object.metadata.deletionTimestamp) this.#later(() => this.#finish(place));
  }

  #index(collection: string, object: StoredObject): void {
    const place = { collection, key: keyOf(object) };
    this.#places.set(object.metadata.uid, place);
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(uid) ?? new Map<string, Place>();
      dependents.set(object.metadata.uid, place);
      this.#dependents.set(uid, dependents);
    }
  }

  #forget({ metadata }: StoredObject): void {
    this.#places.delete(metadata.uid);
    for (const { uid } of metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(uid);
      dependents?.delete(metadata.uid);
      if (dependents?.size === 0) this.#dependents.delete(uid);
    }
  }

  #later(task: () => void): void {
    this.#work.push(task);
    this.#scheduled ??= setImmediate(() => this.#runWork());
  }

  /** Works in slices, so that the deletion of ten thousand objects does not delay every request. */
  #runWork(): void {
    this.#scheduled = undefined;
    for (const task of this.#work.splice(0, 500)) task();
    if (this.#work.length > 0) this.#scheduled ??= setImmediate(() => this.#runWork());
  }

  #ownerGone(uid: string): void {
    for (const place of [...(this.#dependents.get(uid)?.values() ?? [])]) this.#collectIfOrphaned(place);
  }

  /** Deletes an object whose owners are all gone. */
  #collectIfOrphaned({ collection, key }: Place): void {
    const object = this.#backend.store.get(collection, key);
    const owners = object?.metadata.ownerReferences ?? [];
    if (!object || owners.length === 0 || object.metadata.deletionTimestamp) return;
    if (!owners.some(({ uid }) => this.#isReachable(uid, object))) this.#delete({ collection, key });
  }

  /** Reports whether an owner exists, either cluster-scoped or in the namespace of the dependent. */
  #isReachable(uid: string, dependent: StoredObject): boolean {
    const place = this.#places.get(uid);
    const owner = place && this.#backend.store.get(place.collection, place.key);
    return owner !== undefined && (owner.metadata.namespace === undefined || owner.metadata.namespace === dependent.metadata.namespace);
  }

  #delete({ collection, key }: Place): void {
    const type = this.#typeOf(collection);
    const object = this.#backend.store.get(collection, key);
    if (!type || !object) return;
    deleteObject(this.#backend, { type, namespace: object.metadata.namespace, name: object.metadata.name }, background);
  }

  #typeOf(collection: string): ResourceType | undefined {
    const [group = '', resource = ''] = collection.split('/');
    return this.#backend.registry.get({ group, resource });
  }

  /** Continues with an object that is marked for deletion. */
  #finish(place: Place): void {
    const object = this.#backend.store.get(place.collection, place.key);
    if (!object?.metadata.deletionTimestamp) return;
    const { uid, finalizers = [] } = object.metadata;
    if (finalizers.includes('orphan')) {
      for (const dependent of [...(this.#dependents.get(uid)?.values() ?? [])]) this.#disown(dependent, uid);
      this.#release(place, 'orphan');
    } else if (finalizers.includes('foregroundDeletion')) {
      this.#finishForeground(place, uid);
    } else if (place.collection === definitions) {
      this.#emptyDefinition(place, object);
    } else if (place.collection === namespaces) {
      this.#emptyNamespace(object.metadata.name);
    }
  }

  #finishForeground(place: Place, uid: string): void {
    const dependents = [...(this.#dependents.get(uid)?.values() ?? [])];
    for (const dependent of dependents) this.#delete(dependent);
    const isBlocked = dependents.some(({ collection, key }) =>
      this.#backend.store.get(collection, key)?.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion),
    );
    if (!isBlocked) this.#release(place, 'foregroundDeletion');
  }

  #disown({ collection, key }: Place, uid: string): void {
    const object = this.#backend.store.get(collection, key);
    if (!object) return;
    const { ownerReferences = [], ...metadata } = object.metadata;
    const rest = ownerReferences.filter((owner) => owner.uid !== uid);
    this.#backend.store.put(collection, { ...object, metadata: { ...metadata, ...(rest.length > 0 && { ownerReferences: rest }) } });
  }

  /** Removes a finalizer; without any left, the object is deleted. */
  #release({ collection, key }: Place, finalizer: string): void {
    const object = this.#backend.store.get(collection, key);
    if (!object) return;
    const { finalizers = [], ...metadata } = object.metadata;
    const rest = finalizers.filter((one) => one !== finalizer);
    if (rest.length === 0 && collection !== namespaces) this.#backend.store.remove(collection, key);
    else this.#backend.store.put(collection, { ...object, metadata: { ...metadata, ...(rest.length > 0 && { finalizers: rest }) } });
  }

  #emptyDefinition(place: Place, object: StoredObject): void {
    if (!object.metadata.finalizers?.includes(cleanupFinalizer)) return;
    const collection = collectionOf(customResourceType(object));
    for (const one of this.#backend.store.list(collection) ?? []) {
      if (!one.metadata.deletionTimestamp) this.#delete({ collection, key: keyOf(one) });
    }
    if (this.#backend.store.list(collection)?.length === 0) this.#release(place, cleanupFinalizer);
  }

  #emptyNamespace(name: string): void {
    const namespaced = this.#backend.registry.all().filter((type) => type.namespaced);
    let left = 0;
    for (const collection of namespaced.map(collectionOf)) {
      for (const object of this.#backend.store.list(collection, { namespace: name }) ?? []) {
        if (!object.metadata.deletionTimestamp) this.#delete({ collection, key: keyOf(object) });
      }
      left += this.#backend.store.list(collection, { namespace: name })?.length ?? 0;
    }
    const namespace = this.#backend.store.get(namespaces, name);
    if (left === 0 && namespace && !namespace.metadata.finalizers?.length) this.#backend.store.remove(namespaces, name);
  }

  /** Checks after a deletion whether a namespace, a definition or an owner was waiting for it. */
  #containerSmaller(collection: string, { metadata }: StoredObject): void {
    if (metadata.namespace) this.#finish({ collection: namespaces, key: metadata.namespace });
    const [group = '', resource = ''] = collection.split('/');
    if (group) this.#finish({ collection: definitions, key: `${resource}.${group}` });
    for (const { uid } of metadata.ownerReferences ?? []) {
      const place = this.#places.get(uid);
      if (place) this.#finish(place);
    }
  }
}
