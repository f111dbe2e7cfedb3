/** Rules of a subject as rows: a resource in a namespace, and the bindings that allow each verb. */
import type { AccessRule } from './grants';

export const commonVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const;

export interface MatrixRow {
  /** `pods`, `deployments.apps`, `pods (one, two)` or `/metrics`. */
  what: string;
  /** '' for the whole cluster. */
  namespace: string;
  verbs: Map<string, AccessRule[]>;
}

/** Returns the rows by resource and namespace. Rules of hidden and missing roles have none. */
export function matrixOf(items: readonly AccessRule[]): MatrixRow[] {
  const rows = new Map<string, MatrixRow>();
  for (const item of items) {
    for (const what of whatOf(item)) {
      const { namespace } = item.binding;
      const key = `${what} ${namespace}`;
      const row = rows.get(key) ?? { what, namespace, verbs: new Map() };
      rows.set(key, row);
      for (const verb of item.rule?.verbs ?? []) row.verbs.set(verb, [...(row.verbs.get(verb) ?? []), item]);
    }
  }
  return [...rows.values()].sort((left, right) => compare(left.what, right.what) || compare(left.namespace, right.namespace));
}

const compare = (left: string, right: string) => (left < right ? -1 : Number(left > right));

function whatOf({ rule, binding }: AccessRule): string[] {
  if (rule === undefined) return [];
  // A RoleBinding gives no paths.
  const paths = binding.namespace === '' ? (rule.nonResourceURLs ?? []) : [];
  const names = rule.resourceNames ? ` (${rule.resourceNames.join(', ')})` : '';
  const resources = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).map((resource) => `${resource}${group === '' ? '' : `.${group}`}${names}`),
  );
  return [...resources, ...paths];
}

/** Returns the rules that allow a verb on a row, those for all verbs included. */
export const grantsOf = ({ verbs }: MatrixRow, verb: string): AccessRule[] => [
  ...(verbs.get(verb) ?? []),
  ...(verb === '*' ? [] : (verbs.get('*') ?? [])),
];

export const otherVerbs = ({ verbs }: MatrixRow): string[] =>
  [...verbs.keys()].filter((verb) => !commonVerbs.some((common) => common === verb)).sort();
