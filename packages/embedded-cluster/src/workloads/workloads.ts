/** The controllers of workloads, each with a work queue that changes of the store fill. */

import { Component } from '../component.ts';
import { controllerOf, keyOf, objectKey, type StoredObject } from '../objects.ts';
import { limited, reconcileQuota } from '../quotas.ts';
import type { Backend } from '../resources.ts';
import type { Change } from '../store.ts';
import { reconcileScaler } from './autoscaling.ts';
import { reconcileDeployment } from './deployments.ts';
import { reconcileBudget } from './disruption.ts';
import { reconcileEndpoints } from './endpoints.ts';
import { reconcileCronJob, reconcileJob } from './jobs.ts';
import { workloadTypes } from './kinds.ts';
import { reconcilePod } from './pods.ts';
import { reconcileReplicaSet } from './replica-sets.ts';
import { reconcileDaemonSet, reconcileStatefulSet } from './sets.ts';
import { collections, type Pod, type Service } from './shapes.ts';
import { WorkQueue } from './work-queue.ts';

/** Collections by the kind that a controller reference names. */
const collectionByKind: Readonly<Record<string, string>> = {
  ...{ Deployment: collections.deployments, ReplicaSet: collections.replicaSets, StatefulSet: collections.statefulSets },
  ...{ DaemonSet: collections.daemonSets, Job: collections.jobs, CronJob: collections.cronJobs },
};

function withObject(backend: Backend, collection: string, key: string, reconcile: (object: StoredObject) => undefined): undefined {
  const object = backend.store.get(collection, key);
  if (object !== undefined && object.metadata.deletionTimestamp === undefined) reconcile(object);
}

export class Workloads {
  readonly #queues: ReadonlyMap<string, WorkQueue>;
  readonly #backend: Backend;
  readonly #unsubscribe: () => void;

  private constructor(backend: Backend, log: (message: string) => void) {
    this.#backend = backend;
    const queue = (name: string, reconcile: (key: string) => number | undefined) => {
      const own: WorkQueue = new WorkQueue((key) => {
        try {
          const waitMs = reconcile(key);
          if (waitMs !== undefined) own.add(key, waitMs);
        } catch (error) {
          log(`${name} of ${key} failed: ${error instanceof Error ? error.stack : String(error)}`);
        }
      });
      return own;
    };
    const [manager, scheduler, kubelet] = [
      new Component(backend, 'kube-controller-manager'),
      new Component(backend, 'kube-scheduler'),
      new Component(backend, 'kubelet'),
    ];
    this.#queues = new Map<string, WorkQueue>([
      [collections.deployments, queue('deployment', (key) => reconcileDeployment(manager, key))],
      [collections.replicaSets, queue('replica set', (key) => reconcileReplicaSet(manager, key))],
      [collections.statefulSets, queue('stateful set', (key) => reconcileStatefulSet(manager, key))],
      [collections.daemonSets, queue('daemon set', (key) => reconcileDaemonSet(manager, key))],
      [collections.jobs, queue('job', (key) => reconcileJob(manager, key))],
      [collections.cronJobs, queue('cron job', (key) => reconcileCronJob(manager, key))],
      [
        collections.services,
        queue('endpoints', (key) =>
          withObject(backend, collections.services, key, (service) => reconcileEndpoints(manager, service as Service)),
        ),
      ],
      [
        collections.quotas,
        queue('quota', (key) => withObject(backend, collections.quotas, key, (quota) => reconcileQuota(manager, quota))),
      ],
      [collections.scalers, queue('autoscaler', (key) => reconcileScaler(manager, key))],
      [
        collections.budgets,
        queue('disruption budget', (key) => withObject(backend, collections.budgets, key, (budget) => reconcileBudget(manager, budget))),
      ],
      [collections.pods, queue('pod', (key) => reconcilePod(scheduler, kubelet, key))],
    ]);
    this.#unsubscribe = backend.store.subscribe((change) => this.#observe(change));
    this.#resume();
  }

  /** Adds the kinds to the cluster, limits all kinds by quotas, and runs their controllers until the stop. */
  static start(backend: Backend, log: (message: string) => void): Workloads {
    for (const type of [...backend.registry.all(), ...workloadTypes()]) backend.registry.set(limited(backend, type));
    return new Workloads(backend, log);
  }

  stop(): void {
    this.#unsubscribe();
    for (const queue of this.#queues.values()) queue.stop();
  }

  #resume(): void {
    for (const [collection, queue] of this.#queues) {
      for (const object of this.#backend.store.list(collection) ?? []) queue.add(keyOf(object));
    }
  }

  #observe({ collection, key, object, type }: Change): void {
    if (type !== 'DELETED') this.#queues.get(collection)?.add(key);
    this.#addOwner(object);
    if (collection === collections.nodes) this.#onNode();
    if (collection === collections.pods) this.#addAll(object, collections.budgets, collections.services);
    if (type !== 'MODIFIED' || collection === collections.pods) this.#addAll(object, collections.quotas);
  }

  #addOwner(object: StoredObject): void {
    const owner = controllerOf(object);
    const collection = owner && collectionByKind[owner.kind];
    if (collection) this.#queues.get(collection)?.add(objectKey(object.metadata.namespace, owner.name));
  }

  /** Adds the objects of a namespace that count others in it. */
  #addAll({ metadata: { namespace } }: StoredObject, ...collectionsOf: readonly string[]): void {
    if (namespace === undefined) return;
    for (const collection of collectionsOf)
      for (const object of this.#backend.store.list(collection, { namespace }) ?? []) this.#queues.get(collection)?.add(keyOf(object));
  }

  #onNode(): void {
    for (const set of this.#backend.store.list(collections.daemonSets) ?? []) this.#queues.get(collections.daemonSets)?.add(keyOf(set));
    for (const pod of (this.#backend.store.list(collections.pods) ?? []) as Pod[])
      if (pod.spec.nodeName === undefined) this.#queues.get(collections.pods)?.add(keyOf(pod));
  }
}
