/** Roles and bindings after a change that is not made. */
import { Slices } from '../slices.ts';
import { BindingIndex, type BoundSubject, type RoleBinding } from './role-bindings.ts';
import type { RbacWatch, RoleRow } from './watch.ts';

type Watched = Pick<RbacWatch, 'bindingsOf' | 'role' | 'clusterRoles'>;

const bindingKey = ({ namespace, name }: Pick<RoleBinding, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** @param namespace '' for a ClusterRole */
export const roleKey = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Evaluates the watched roles and bindings as if changes were made. */
export class ChangedRbac implements Pick<RbacWatch, 'bindingsOf' | 'roleOf'> {
  readonly #rbac: Watched;
  readonly #bindings = new Map<string, RoleBinding | undefined>();
  readonly #roles = new Map<string, RoleRow | undefined>();
  readonly #index = new BindingIndex();

  constructor(rbac: Watched) {
    this.#rbac = rbac;
  }

  bindingsOf(subject: BoundSubject): readonly RoleBinding[] {
    const kept = this.#rbac.bindingsOf(subject);
    if (this.#bindings.size === 0) return kept;
    return [...kept.filter((binding) => !this.#bindings.has(bindingKey(binding))), ...this.#index.of(subject)];
  }

  roleOf({ role: { kind, name }, namespace }: RoleBinding): RoleRow | undefined {
    return this.role(kind === 'Role' ? namespace : '', name);
  }

  /** @param namespace '' for a ClusterRole */
  role(namespace: string, name: string): RoleRow | undefined {
    const key = roleKey(namespace, name);
    return this.#roles.has(key) ? this.#roles.get(key) : this.#rbac.role(namespace, name);
  }

  /** Returns a binding that was changed, undefined for other bindings. */
  changedBinding(key: string): RoleBinding | undefined {
    return this.#bindings.get(key);
  }

  /** Adds or replaces a binding. */
  putBinding(binding: RoleBinding): void {
    this.removeBinding(binding);
    this.#bindings.set(bindingKey(binding), binding);
    this.#index.record({ key: bindingKey(binding), new: binding });
  }

  removeBinding(binding: Pick<RoleBinding, 'namespace' | 'name'>): void {
    const key = bindingKey(binding);
    const old = this.#bindings.get(key);
    if (old !== undefined) this.#index.record({ key, old });
    this.#bindings.set(key, undefined);
  }

  /** Changes or deletes a role. @param namespace '' for a ClusterRole */
  putRole(namespace: string, name: string, row: RoleRow | undefined): void {
    this.#roles.set(roleKey(namespace, name), row);
  }

  /** Keys of changed roles, aggregated ones included. */
  get changedRoles(): ReadonlySet<string> {
    return new Set(this.#roles.keys());
  }

  /**
   * Computes the rules of aggregated ClusterRoles like the controller of Kubernetes: a role has the rules of all other roles that its
   * selectors match. Must be called after the last change.
   */
  async aggregate(): Promise<void> {
    const slices = new Slices();
    let changed = [...this.#roles.keys()].filter((key) => key.startsWith('/')).map((key) => key.slice(1));
    const aggregating = this.#clusterRoles().filter(([, { aggregates }]) => aggregates !== undefined);
    // A cycle of aggregated roles adds rules on each round, and so ends once every role has all rules.
    for (let round = 0; changed.length > 0 && round <= aggregating.length; round += 1) {
      const next: string[] = [];
      for (const [name] of aggregating) {
        const row = this.role('', name);
        if (row?.aggregates === undefined || !this.#isAffected(name, row, changed)) continue;
        const rules = await this.#aggregatedRules(name, row, slices);
        if (textOf(rules) === textOf(row.rules)) continue;
        this.putRole('', name, { ...row, rules });
        next.push(name);
      }
      changed = next;
    }
  }

  #isAffected(name: string, row: RoleRow, changed: readonly string[]): boolean {
    return changed.some(
      (other) => other === name || [this.#rbac.role('', other), this.role('', other)].some((one) => one !== undefined && selects(row, one)),
    );
  }

  async #aggregatedRules(name: string, row: RoleRow, slices: Slices) {
    const rules: NonNullable<RoleRow['rules']>[number][] = [];
    for (const [other, one] of this.#clusterRoles()) {
      if (other !== name && selects(row, one)) for (const rule of one.rules ?? []) rules.push(rule);
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
    return rules;
  }

  #clusterRoles(): [string, RoleRow][] {
    const names = new Set(Array.from(this.#rbac.clusterRoles(), ([name]) => name));
    for (const key of this.#roles.keys()) if (key.startsWith('/')) names.add(key.slice(1));
    return [...names].flatMap((name): [string, RoleRow][] => {
      const row = this.role('', name);
      return row === undefined ? [] : [[name, row]];
    });
  }
}

const selects = ({ aggregates = [] }: RoleRow, { labels = {} }: RoleRow): boolean => aggregates.some((matches) => matches(labels));

/** Returns equal texts for roles with the same rules, in any order. */
const textOf = (rules: RoleRow['rules'] = []): string => [...new Set(rules.map((rule) => JSON.stringify(rule)))].sort().join();
