/** Objects of a workload by their controllers: its labels alone also find those of other workloads. */

import { kindId, type Metadata } from '../../../../api/object-types.ts';

export interface Owned {
  metadata: Pick<Metadata, 'name' | 'uid' | 'labels' | 'ownerReferences'>;
}

const controllerOf = ({ metadata }: Owned) => metadata.ownerReferences?.find(({ controller }) => controller === true);

export const isControlledBy =
  (uid: string | undefined) =>
  (object: Owned): boolean =>
    uid !== undefined && controllerOf(object)?.uid === uid;

/** Tells objects of an owner: Jobs that an old kubectl made of a CronJob name it without `controller`. */
export const isOwnedBy =
  (uid: string | undefined) =>
  ({ metadata }: Owned): boolean =>
    uid !== undefined && metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;

const controllers = [
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'replicationcontrollers',
];

/** Reports whether a kind controls pods. Others, such as Services, select them. */
export const controlsPods = (kind: { group: string; resource: string }): boolean => controllers.includes(kindId(kind));

/**
 * Returns a test for the pods that a workload controls.
 *
 * @param sets ReplicaSets that may belong to a Deployment. Unset: the caller may not list them, and their names decide, which have the name
 *   of the Deployment and the hash of the template.
 */
export function isPodOf(
  kind: { group: string; resource: string },
  { metadata: { name, uid } }: Owned,
  sets?: readonly Owned[],
): (pod: Owned) => boolean {
  if (kindId(kind) !== 'deployments.apps') return isControlledBy(uid);
  if (sets === undefined) return (pod) => isNamedAfter(name, pod);
  const own = new Set(sets.filter(isControlledBy(uid)).map(({ metadata }) => metadata.uid));
  return (pod) => own.has(controllerOf(pod)?.uid);
}

function isNamedAfter(deployment: string, pod: Owned): boolean {
  const { kind, name } = controllerOf(pod) ?? {};
  return kind === 'ReplicaSet' && name === `${deployment}-${pod.metadata.labels?.['pod-template-hash']}`;
}
