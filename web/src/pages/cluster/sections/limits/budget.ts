/** The figures of a PodDisruptionBudget. Kubernetes API: policy/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

interface BudgetStatus {
  currentHealthy?: number;
  desiredHealthy?: number;
  expectedPods?: number;
  disruptionsAllowed?: number;
  observedGeneration?: number;
}

/** Returns undefined before the cluster has counted for the latest change. */
export function budgetFigures({ metadata, status }: ClusterObject) {
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0, disruptionsAllowed = 0, ...is } = (status ?? {}) as BudgetStatus;
  if (is.observedGeneration !== metadata.generation) return undefined;
  return { healthy: currentHealthy, wanted: desiredHealthy, all: expectedPods, allowed: disruptionsAllowed };
}
