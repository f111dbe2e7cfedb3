import type { Right } from '../../../../app/rights';

/** Returns the right to figures of pods or nodes. */
export const metricsRight = (verb: 'get' | 'list', resource: 'pods' | 'nodes', rest: Partial<Right> = {}): Right => ({
  ...{ verb, group: 'metrics.k8s.io', resource },
  ...rest,
});
