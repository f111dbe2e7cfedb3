/**
 * Writes the rules of an aggregated ClusterRole into it, as the controller of a cluster does, so that a client that reads the role sees
 * what it grants.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
 */

import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type StoredObject, valueAt } from './objects.ts';
import type { Store } from './store.ts';

const clusterRoles = 'rbac.authorization.k8s.io/clusterroles';

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Brings every aggregated role up to date. A role that changes by it calls for another round, until none does. */
export function aggregateClusterRoles(store: Store): void {
  const roles = store.list(clusterRoles) ?? [];
  for (const role of roles) {
    const selectors = listOf(valueAt(role, ['aggregationRule', 'clusterRoleSelectors']));
    if (!isJsonObject(role.aggregationRule)) continue;
    const rules = distinct(
      roles
        .filter((other) => other !== role && selectors.some((selector) => selects(selector, other)))
        .flatMap(({ rules }) => listOf(rules)),
    );
    if (!isDeepStrictEqual(rules, listOf(role.rules))) store.put(clusterRoles, { ...role, rules });
  }
}

function distinct(rules: readonly unknown[]): unknown[] {
  return rules.filter((rule, index) => rules.findIndex((other) => isDeepStrictEqual(rule, other)) === index);
}

function selects(selector: unknown, { metadata: { labels = {} } }: StoredObject): boolean {
  const matchLabels = valueAt(selector, ['matchLabels']);
  const expressions = listOf(valueAt(selector, ['matchExpressions']));
  return (
    Object.entries(isJsonObject(matchLabels) ? matchLabels : {}).every(([key, value]) => valueAt(labels, [key]) === value) &&
    expressions.every((expression) => isJsonObject(expression) && holds(expression, labels))
  );
}

function holds({ key, operator, values }: Record<string, unknown>, labels: Readonly<Record<string, string>>): boolean {
  const value = valueAt(labels, [String(key)]);
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isListed = value !== undefined && listOf(values).includes(value);
  return operator === 'In' ? isListed : operator === 'NotIn' && !isListed;
}
