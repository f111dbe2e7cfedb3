/** Kinds whose columns of kubectl's say too little about the state of an object: their lists read whole objects. */
import { kindId } from './object-types.ts';

type Kind = Parameters<typeof kindId>[0];

/** Kinds without a column for the state, which get one. */
const stated = new Set([
  ...['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'replicasets.apps', 'replicationcontrollers', 'cronjobs.batch'],
  ...['horizontalpodautoscalers.autoscaling', 'poddisruptionbudgets.policy', 'ingresses.networking.k8s.io'],
]);

/** Kinds with a column for the state that has a part of it. */
const restated = new Set(['nodes', 'namespaces']);

export const hasStateColumn = (kind: Kind): boolean => stated.has(kindId(kind));

/** Returns the parameter of a list in columns whose rows come with their objects. */
export const rowObjects = (kind: Kind): { includeObject?: 'Object' } =>
  hasStateColumn(kind) || restated.has(kindId(kind)) ? { includeObject: 'Object' } : {};
