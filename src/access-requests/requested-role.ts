import { hash } from 'node:crypto';
import { z } from 'zod';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { type PolicyRule, policyRules } from '../rbac/rules.ts';
import type { Services } from '../services.ts';

/** Returns the SHA-256 of the rules of a ClusterRole, in any order; undefined if the role does not exist. */
export function rulesHashOf(rbac: Pick<Services['rbac'], 'clusterRoleRules'>, role: string): string | undefined {
  const rules = rbac.clusterRoleRules(role);
  // The controller of aggregated roles may change the order.
  return rules && hash('sha256', JSON.stringify(rules.map((rule) => JSON.stringify(rule)).sort()), 'base64url');
}

const clusterRole = { type: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' }, kind: 'ClusterRole' };

const texts = z.array(z.string());
/** The role of a request, as it is now. */
export const requestedRole = z.object({
  rules: z.array(z.object({ verbs: texts, apiGroups: texts, resources: texts, resourceNames: texts, nonResourceURLs: texts })),
});

/** Reads the requested ClusterRole. Returns undefined if it no longer exists, also if another one has its name. @throws StatusError 503, 504 */
export async function readRequestedRole(
  { client }: Services,
  { roleRef, roleUID }: { roleRef: string; roleUID: string },
  signal: AbortSignal,
): Promise<{ rules: readonly PolicyRule[] } | undefined> {
  const roles = new ServiceResource(client, clusterRole);
  for await (const { metadata, rules } of roles.list({ fieldSelector: `metadata.name=${roleRef}` }, signal)) {
    if (metadata.uid !== roleUID) return undefined;
    return { rules: policyRules(rules) };
  }
  return undefined;
}
