/** Random roles, bindings, users and questions, the same ones for the same seed. The world is so small that every second answer is yes. */
import type { RbacSubject } from '@atrium/kubernetes/rbac/grants.ts';
import type { AccessQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import { aBinding, aNamespace, aRole, type Rule } from './objects.ts';

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'bind'];
const groups = ['', 'apps', 'example.com'];
const resources = ['pods', 'deployments', 'secrets', 'namespaces', 'nodes', 'widgets'];
const subresources = ['log', 'scale', 'status'];
const names = ['a', 'b', 'c', 'random-1'];
const paths = ['/', '/api', '/api/v1', '/metrics', '/logs/a', '/logs/a/b', '/healthz', '/random*'];
const urls = ['/', '/api', '/api/*', '/metrics', '/logs*', '/logs/*', '/health', '/random*', '*'];
const peopleGroups = [
  'random-dev',
  'random-ops',
  'random-all',
  'system:serviceaccounts',
  'system:serviceaccounts:random-2',
  'local:random',
];

export const randomNamespaces = Array.from({ length: 8 }, (_, index) => `random-${index}`);

export class RandomRbac {
  readonly #random: () => number;
  readonly #prefix: string;

  /** @param round part of every name, so that each round has objects of its own */
  constructor(seed: number, round = 0) {
    this.#random = randomNumbers(seed);
    this.#prefix = `random-${round}`;
  }

  /** Returns namespaces, then roles and bindings. */
  objects({ roles = 40, bindings = 60 } = {}): Manifest[] {
    const clusterRoles = Array.from({ length: roles }, (_, index) => this.#clusterRole(index, roles));
    const localRoles = Array.from({ length: roles }, (_, index) => {
      const role = aRole(`${this.#prefix}-${index % 6}`, this.#rules(false), randomNamespaces[index % randomNamespaces.length] ?? '');
      return role;
    });
    const all = Array.from({ length: bindings }, (_, index) => this.#binding(index, roles));
    const byName = new Map(
      [...clusterRoles, ...localRoles, ...all].map((object) => [
        `${object.kind} ${object.metadata.namespace} ${object.metadata.name}`,
        object,
      ]),
    );
    return [...randomNamespaces.map((name) => aNamespace(name)), ...byName.values()];
  }

  /** Returns changes of such objects: replaced rules and labels, deletions, and new bindings. Bindings keep their roles. */
  changes(objects: readonly Manifest[]): { written: Manifest[]; deleted: Manifest[] } {
    const changed = objects.filter(({ kind }) => kind !== 'Namespace' && this.#isOnce(0.35));
    const isRole = ({ kind }: Manifest) => kind === 'Role' || kind === 'ClusterRole';
    const deleted = changed.filter((object) => !isRole(object) || this.#isOnce(0.3));
    const roles = changed.filter((object) => isRole(object) && !deleted.includes(object)).map((object) => this.#changedRole(object));
    const count = objects.filter(({ kind }) => kind === 'ClusterRole').length;
    const bindings = Array.from({ length: 15 }, (_, index) => this.#binding(1000 + index, count));
    return { written: [...roles, ...bindings], deleted };
  }

  #changedRole(object: Manifest): Manifest {
    const label = `example.com/${this.#prefix}`;
    const labels = object.kind === 'ClusterRole' ? { labels: { [label]: String(Math.floor(this.#random() * 5)) } } : {};
    const isAggregated = 'aggregationRule' in object;
    const rules = isAggregated ? [] : this.#rules(object.kind === 'ClusterRole');
    return { ...object, metadata: { ...object.metadata, ...(!isAggregated && labels) }, rules };
  }

  who(): RbacSubject {
    if (this.#isOnce(0.01)) return { name: 'random-master', groups: ['system:masters'] };
    const given = peopleGroups.filter(() => this.#isOnce(0.2));
    const name = this.#isOnce(0.25)
      ? `system:serviceaccount:${this.#oneOf(randomNamespaces)}:${this.#oneOf(['builder', 'deployer'])}`
      : this.#person();
    return { name, groups: this.#isOnce(0.5) ? [...given, 'system:authenticated'] : given };
  }

  question(): AccessQuestion {
    if (this.#isOnce(0.15)) return { verb: this.#oneOf(['get', 'post', 'put', '*']), path: this.#isOnce(0.05) ? '' : this.#oneOf(paths) };
    return {
      verb: this.#isOnce(0.02) ? '*' : this.#oneOf(verbs),
      group: this.#isOnce(0.02) ? '*' : this.#oneOf(groups),
      resource: this.#isOnce(0.02) ? '*' : this.#oneOf(resources),
      subresource: this.#isOnce(0.25) ? this.#oneOf(subresources) : '',
      namespace: this.#isOnce(0.75) ? this.#oneOf([...randomNamespaces, 'missing']) : '',
      name: this.#isOnce(0.4) ? this.#oneOf(names) : '',
    };
  }

  #clusterRole(index: number, count: number): Manifest {
    const name = `${this.#prefix}-${index}`;
    const label = `example.com/${this.#prefix}`;
    // Every tenth role is aggregated from others by their labels.
    if (index % 10 === 9) {
      const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { [label]: String(index % 3) } }] };
      return { ...aRole(name, []), aggregationRule };
    }
    const role = aRole(name, index === count - 1 ? [] : this.#rules(true));
    return { ...role, metadata: { ...role.metadata, labels: { [label]: String(index % 7) } } };
  }

  #binding(index: number, roles: number): Manifest {
    const name = `${this.#prefix}-${index}`;
    const to = Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => this.#subject());
    // Every twentieth binding names a role that does not exist.
    const role = `${this.#prefix}-${Math.floor(this.#random() * roles * 1.05)}`;
    if (this.#isOnce(0.25)) return aBinding(name, { role, to });
    const namespace = this.#oneOf(randomNamespaces);
    if (this.#isOnce(0.5)) return aBinding(name, { role, to, namespace });
    const local = `${this.#prefix}-${Math.floor(this.#random() * 6)}`;
    return aBinding(name, { role: local, roleKind: 'Role', to, namespace });
  }

  #rules(isClusterRole: boolean): Rule[] {
    return Array.from({ length: Math.floor(this.#random() * 4) }, () => {
      if (isClusterRole && this.#isOnce(0.25)) return { verbs: this.#some(['get', 'post'], 0.1), nonResourceURLs: this.#some(urls, 0) };
      const rule = { verbs: this.#some(verbs, 0.1), apiGroups: this.#some(groups, 0.1), resources: this.#resources() };
      return this.#isOnce(0.3) ? { ...rule, resourceNames: this.#some(names, 0) } : rule;
    });
  }

  #resources(): string[] {
    const given = this.#some(resources, 0.08);
    return given.flatMap((resource) => {
      if (resource === '*' || this.#isOnce(0.7)) return [resource];
      return [`${this.#isOnce(0.3) ? '*' : resource}/${this.#oneOf([...subresources, '*'])}`];
    });
  }

  #subject(): `User:${string}` | `Group:${string}` | `ServiceAccount:${string}` {
    const by = this.#random();
    if (by < 0.4) return `User:${this.#person()}`;
    if (by < 0.45) return `User:system:serviceaccount:${this.#oneOf(randomNamespaces)}:builder`;
    if (by < 0.7) return `Group:${this.#oneOf([...peopleGroups, 'random-empty'])}`;
    return `ServiceAccount:${this.#oneOf(randomNamespaces)}/${this.#oneOf(['builder', 'deployer'])}`;
  }

  #person = () => `random-person-${Math.floor(this.#random() * 12)}`;

  /** Returns one to three of them, or `*`. */
  #some(of: readonly string[], chanceOfAll: number): string[] {
    if (this.#isOnce(chanceOfAll)) return ['*'];
    return Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => this.#oneOf(of));
  }

  #oneOf(of: readonly string[]): string {
    return of[Math.floor(this.#random() * of.length)] ?? '';
  }

  #isOnce(chance: number): boolean {
    return this.#random() < chance;
  }
}
