/** Reads and writes of a component of the control plane, such as the deployment controller or a kubelet. */

import type { WriteContext } from './backend.ts';
import { findObject } from './backend.ts';
import { deleteObject } from './delete.ts';
import { controllerOf, type JsonObject, objectKey, type StoredObject, timestamp } from './objects.ts';
import type { Backend, Target } from './resources.ts';
import { createObject, updateObject } from './write.ts';

const maxMessage = 1024;

export class Component {
  readonly backend: Backend;
  readonly #name: string;
  readonly #context: WriteContext;

  constructor(backend: Backend, name: string) {
    this.backend = backend;
    this.#name = name;
    const user = { username: `system:${name}`, uid: '', groups: ['system:masters', 'system:authenticated'] };
    this.#context = { backend, user, isDryRun: false, fieldValidation: 'Ignore', warn: () => {} };
  }

  now(): Date {
    return this.backend.now();
  }

  get<T extends StoredObject>(collection: string, key: string): T | undefined {
    return this.backend.store.get(collection, key) as T | undefined;
  }

  list<T extends StoredObject>(collection: string, namespace?: string): T[] {
    return (this.backend.store.list(collection, { namespace }) ?? []) as T[];
  }

  /** Returns the objects of a namespace that a controller owns. */
  owned<T extends StoredObject>(collection: string, owner: StoredObject): T[] {
    return this.list<T>(collection, owner.metadata.namespace).filter((object) => controllerOf(object)?.uid === owner.metadata.uid);
  }

  create<T extends StoredObject>(collection: string, body: JsonObject, namespace?: string): T {
    return createObject(this.#context, { type: this.#typeOf(collection), namespace }, body) as T;
  }

  update<T extends StoredObject>(collection: string, object: T): T {
    return updateObject(this.#context, this.#target(collection, object), structuredClone(object)).object as T;
  }

  /** Gives a pod its node. A binding is no new generation. */
  bind<T extends StoredObject>(collection: string, pod: T, nodeName: string): T {
    return this.backend.store.put(collection, structuredClone({ ...pod, spec: { ...(pod.spec as object), nodeName } })) as T;
  }

  setStatus(collection: string, object: StoredObject, status: object): void {
    updateObject(this.#context, this.#target(collection, object), structuredClone({ ...object, status }), { subresource: 'status' });
  }

  remove(collection: string, object: StoredObject, options: { graceSeconds?: number } = {}): void {
    const target = this.#target(collection, object);
    if (findObject(this.backend, target)?.metadata.uid !== object.metadata.uid) return;
    deleteObject(this.backend, target, { policy: 'Background', isDryRun: false, ...options });
  }

  /** Writes an Event, or counts the one that is there. */
  event(object: StoredObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { apiVersion, kind, metadata } = object;
    const namespace = metadata.namespace ?? 'default';
    const name = `${metadata.name}.${reason.toLowerCase()}.${metadata.uid.slice(0, 8)}`;
    const old = this.backend.store.get('/events', objectKey(namespace, name));
    const now = timestamp(this.now());
    const target = { type: this.#typeOf('/events'), namespace, name };
    const text = { message: message.slice(0, maxMessage), lastTimestamp: now };
    if (old !== undefined) {
      updateObject(this.#context, target, structuredClone({ ...old, ...text, count: Number(old.count ?? 1) + 1 }));
      return;
    }
    createObject(this.#context, target, {
      ...{ ...text, metadata: { name, namespace }, type, reason, count: 1, firstTimestamp: now },
      involvedObject: { apiVersion, kind, name: metadata.name, uid: metadata.uid, ...(metadata.namespace && { namespace }) },
      ...{ source: { component: this.#name }, reportingComponent: this.#name, reportingInstance: '' },
    });
  }

  #typeOf(collection: string) {
    const [group = '', resource = ''] = collection.split('/');
    const type = this.backend.registry.get({ group, resource });
    if (type === undefined) throw new Error(`the cluster serves no ${collection}`);
    return type;
  }

  #target(collection: string, { metadata }: StoredObject): Target {
    return { type: this.#typeOf(collection), namespace: metadata.namespace, name: metadata.name };
  }
}

/** Returns the reference by which `owner` controls another object. */
export const ownerReference = ({ apiVersion, kind, metadata }: StoredObject) => ({
  ...{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true },
});
