import { hash } from 'node:crypto';
import type { Services } from '../services.ts';

/** Returns the SHA-256 of the rules of a ClusterRole, in any order; undefined if the role does not exist. */
export function rulesHashOf(rbac: Pick<Services['rbac'], 'clusterRoleRules'>, role: string): string | undefined {
  const rules = rbac.clusterRoleRules(role);
  // The controller of aggregated roles may change the order.
  return rules && hash('sha256', JSON.stringify(rules.map((rule) => JSON.stringify(rule)).sort()), 'base64url');
}
