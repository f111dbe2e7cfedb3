import type { RbacObjects } from '@atrium/embedded-cluster/rbac.ts';

type Kind = Parameters<RbacObjects['list']>[0];

/** Objects of a store, which count how often they are read. */
export class Objects implements RbacObjects {
  readonly #objects: Record<Kind, unknown[]> = { roles: [], clusterroles: [], rolebindings: [], clusterrolebindings: [] };
  #revision = 0;
  reads = 0;

  add(kind: Kind, ...objects: unknown[]) {
    this.#objects[kind].push(...objects);
    this.#revision += 1;
  }

  remove(kind: Kind) {
    this.#objects[kind] = [];
    this.#revision += 1;
  }

  list(kind: Kind) {
    this.reads += 1;
    return this.#objects[kind];
  }

  revision() {
    return this.#revision;
  }
}

export const user = (username: string, ...groups: string[]) => ({ username, uid: '', groups: [...groups, 'system:authenticated'] });
export const ada = user('ada', 'staff');
export const rule = (verbs: string[], apiGroups: string[], resources: string[], resourceNames?: string[]) => ({
  verbs,
  apiGroups,
  resources,
  ...(resourceNames && { resourceNames }),
});
export const clusterRole = (name: string, rules: unknown[], more: object = {}) => ({ metadata: { name }, rules, ...more });
export const toUser = (name: string) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' });
export const clusterBinding = (name: string, role: string, ...subjects: unknown[]) => ({
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects,
});
export const binding = (name: string, namespace: string, kind: 'Role' | 'ClusterRole', role: string, ...subjects: unknown[]) => ({
  metadata: { name, namespace },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
  subjects,
});
