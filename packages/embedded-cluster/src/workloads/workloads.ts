/** The controllers of workloads: one loop, whose queue of keys is filled by changes of the store. */

import { Component } from '../component.ts';
import { controllerOf, keyOf, objectKey, type StoredObject } from '../objects.ts';
import { limited, reconcileQuota } from '../quotas.ts';
import { type Backend, collectionOf } from '../resources.ts';
import type { Change } from '../store.ts';
import { reconcileScaler } from './autoscaling.ts';
import { reconcileDeployment } from './deployments.ts';
import { reconcileBudget } from './disruption.ts';
import { reconcileEndpoints } from './endpoints.ts';
import { reconcileCronJob, reconcileJob } from './jobs.ts';
import { workloadTypes } from './kinds.ts';
import { metricsAt } from './metrics.ts';
import { reconcilePod } from './pods.ts';
import { schedule } from './scheduling.ts';
import { reconcileDaemonSet, reconcileReplicaSet, reconcileStatefulSet } from './sets.ts';
import { collections, type Pod } from './shapes.ts';

/** Brings an object one step further. @returns when to look again, in milliseconds */
type Reconcile = (component: Component, object: never) => number | undefined;

/** Controllers by the collection of their objects. */
const controllers: Readonly<Record<string, Reconcile>> = {
  [collections.deployments]: reconcileDeployment,
  [collections.replicaSets]: reconcileReplicaSet,
  [collections.statefulSets]: reconcileStatefulSet,
  [collections.daemonSets]: reconcileDaemonSet,
  [collections.jobs]: reconcileJob,
  [collections.cronJobs]: reconcileCronJob,
  [collections.services]: reconcileEndpoints,
  [collections.quotas]: reconcileQuota,
  [collections.scalers]: reconcileScaler,
  [collections.budgets]: reconcileBudget,
};

export class Workloads {
  readonly #backend: Backend;
  readonly #log: (message: string) => void;
  readonly #manager: Component;
  readonly #scheduler: Component;
  readonly #kubelet: Component;
  /** Keys that wait, each once and until the earliest time that was asked for. */
  readonly #queue = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  readonly #unsubscribe: () => void;

  private constructor(backend: Backend, log: (message: string) => void) {
    this.#backend = backend;
    this.#log = log;
    this.#manager = new Component(backend, 'kube-controller-manager');
    this.#scheduler = new Component(backend, 'kube-scheduler');
    this.#kubelet = new Component(backend, 'kubelet');
    this.#unsubscribe = backend.store.subscribe((change) => this.#observe(change));
    this.#addAll([...Object.keys(controllers), collections.pods]);
  }

  /** Adds the kinds to the cluster, limits all kinds by quotas, and runs their controllers until the stop. */
  static start(backend: Backend, log: (message: string) => void): Workloads {
    for (const type of [...backend.registry.all(), ...workloadTypes()]) backend.registry.set(limited(backend, type));
    return new Workloads(backend, log);
  }

  /** Returns the metrics of all pods or nodes at another time, as if those of now had run then. */
  metricsAt(resource: 'pods' | 'nodes', at: Date): StoredObject[] {
    return metricsAt(this.#backend, resource, at);
  }

  stop(): void {
    this.#unsubscribe();
    for (const { timer } of this.#queue.values()) clearTimeout(timer);
  }

  #observe({ collection, key, object, type }: Change): void {
    const { namespace } = object.metadata;
    if (type !== 'DELETED') this.#add(collection, key);
    const owner = controllerOf(object);
    const ownerType = owner && this.#backend.registry.find(owner.apiVersion, owner.kind);
    if (ownerType) this.#add(collectionOf(ownerType), objectKey(namespace, owner.name));
    if (collection === collections.nodes) this.#addAll([collections.daemonSets, collections.pods]);
    if (namespace === undefined) return;
    if (collection === collections.pods) this.#addAll([collections.budgets, collections.services], namespace);
    if (type !== 'MODIFIED' || collection === collections.pods) this.#addAll([collections.quotas], namespace);
  }

  #addAll(names: readonly string[], namespace?: string): void {
    for (const name of names) for (const object of this.#backend.store.list(name, { namespace }) ?? []) this.#add(name, keyOf(object));
  }

  #add(collection: string, key: string, afterMs = 0): void {
    if (!(collection in controllers) && collection !== collections.pods) return;
    const [place, at] = [`${collection} ${key}`, Date.now() + afterMs];
    const queued = this.#queue.get(place);
    if (queued && queued.at <= at) return;
    clearTimeout(queued?.timer);
    this.#queue.set(place, { at, timer: setTimeout(() => this.#work(collection, key), afterMs) });
  }

  #work(collection: string, key: string): void {
    this.#queue.delete(`${collection} ${key}`);
    try {
      const waitMs = this.#reconcile(collection, key);
      if (waitMs !== undefined) this.#add(collection, key, waitMs);
    } catch (error) {
      this.#log(`the controller of ${collection} failed for ${key}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }

  #reconcile(collection: string, key: string): number | undefined {
    const object = this.#backend.store.get(collection, key);
    const isDeleted = object?.metadata.deletionTimestamp !== undefined;
    if (object === undefined) return undefined;
    if (collection !== collections.pods) return isDeleted ? undefined : controllers[collection]?.(this.#manager, object as never);
    const isPlaced = (object as Pod).spec.nodeName !== undefined;
    return isPlaced || isDeleted ? reconcilePod(this.#kubelet, object as Pod) : schedule(this.#scheduler, object as Pod);
  }
}
