/** Lists that the chain of an object is made of. */
import { type Kind, kindId } from '../../../../api/kinds';
import type { Selection } from '../../../../api/list-path';
import type { ClusterObject } from '../../../../api/objects';
import { findKind } from '../find-kind';
import { selectedLabels } from '../selector';

export interface ChainRead {
  kind: Kind;
  selection: Selection;
}

const around = ['ingresses.networking.k8s.io', 'services', 'endpointslices.discovery.k8s.io', 'persistentvolumeclaims'];
const workloads = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'replicasets.apps', 'jobs.batch'];

/** Kinds beside those around, by the kind of the page. */
const further: Readonly<Record<string, readonly string[]>> = {
  'ingresses.networking.k8s.io': ['pods', ...workloads],
  services: ['pods', ...workloads],
  'deployments.apps': ['pods', 'replicasets.apps'],
  'replicasets.apps': ['pods', 'deployments.apps'],
  'statefulsets.apps': ['pods'],
  'daemonsets.apps': ['pods'],
  'jobs.batch': ['pods', 'cronjobs.batch'],
  'cronjobs.batch': ['pods', 'jobs.batch'],
};

/** A selector of a workload also finds its ReplicaSets, which have the labels of its pods. */
const selected = new Set(['pods', 'replicasets.apps']);

/** Returns the lists to read for a page. The label of Jobs finds the pods of a CronJob. */
export function chainReads(kinds: readonly Kind[], root: Kind, object: ClusterObject): ChainRead[] {
  const id = kindId(root);
  const labelSelector = id === 'cronjobs.batch' ? 'batch.kubernetes.io/job-name' : selectedLabels(object);
  return [...around, ...(further[id] ?? [])]
    .filter((one) => one !== id)
    .flatMap((one) => findKind(kinds, one) ?? [])
    .map((kind) => ({ kind, selection: labelSelector !== '' && selected.has(kindId(kind)) ? { labelSelector } : {} }));
}

const users = ['pods', 'deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'cronjobs.batch', 'jobs.batch'];

/** Returns the lists of objects that may refer to one. Ingresses and accounts name Secrets. */
export const userReads = (kinds: readonly Kind[], used: Kind): ChainRead[] =>
  [...users, ...(kindId(used) === 'secrets' ? ['ingresses.networking.k8s.io', 'serviceaccounts'] : [])]
    .flatMap((one) => findKind(kinds, one) ?? [])
    .map((kind) => ({ kind, selection: {} }));
