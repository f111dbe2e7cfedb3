/** Changes of a simulation, applied to a copy of the watched roles and bindings. */
import { ChangedRbac, roleKey } from '@atrium/kubernetes/rbac/changed.ts';
import type { BoundSubject, RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { keptRules } from '@atrium/kubernetes/rbac/rules.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { boundSubjects, type Known } from '../bindings/subjects.ts';
import { namespaceResource } from '../bindings/target-namespaces.ts';
import { issuersOf } from '../config/issuers.ts';
import { localGroupName } from '../users/record/local-groups.ts';
import { subjectNamesOf } from '../users/record/subject-name.ts';
import { type ExplorerContext, userBindingOf } from './rights.ts';
import type { Deletion, MemberChange, RoleChange, SimulatedChange } from './simulation-schema.ts';

type NewUserBinding = Extract<SimulatedChange, { type: 'userBinding' }>['userBinding'];

/** The result of changes, and the subjects that they are about. */
export class SimulatedChanges {
  readonly rbac: ChangedRbac;
  /** Members of changed groups. */
  readonly #members = new Map<string, ReadonlySet<string>>();
  readonly #subjects = new Map<string, BoundSubject>();
  readonly #context: ExplorerContext;

  private constructor(context: ExplorerContext) {
    this.#context = context;
    this.rbac = new ChangedRbac(context.services.rbac);
  }

  /** @throws StatusError 503, 504 if namespaces of a project cannot be listed */
  static async of(context: ExplorerContext, changes: readonly SimulatedChange[], signal: AbortSignal): Promise<SimulatedChanges> {
    const simulated = new SimulatedChanges(context);
    // Memberships come first, because UserBindings of groups name the members.
    for (const change of changes) if (change.type === 'member') simulated.#changeMember(change);
    await simulated.#rebindGroups();
    for (const [index, change] of changes.entries()) {
      if (change.type === 'userBinding') await simulated.#addUserBinding(change.userBinding, index, signal);
      if (change.type === 'role') simulated.#putRole(change);
      if (change.type === 'delete') await simulated.#delete(change);
    }
    await simulated.rbac.aggregate();
    await simulated.#nameHolders();
    return simulated;
  }

  /** Subjects that a change gives something to, or takes something from. */
  get subjects(): readonly BoundSubject[] {
    return [...this.#subjects.values()];
  }

  /** Returns the groups of a user record after the changes. */
  groupsAfter(record: string, groups: readonly string[]): readonly string[] {
    if (this.#members.size === 0) return groups;
    const changed = new Set(groups);
    for (const [group, members] of this.#members) {
      if (members.has(record)) changed.add(localGroupName(group));
      else changed.delete(localGroupName(group));
    }
    return [...changed];
  }

  get #known(): Known {
    const { services, users, groups } = this.#context;
    const { groupsPrefix } = (issuersOf(services.config)[0] ?? services.config.login).claims;
    return {
      accounts: users.accounts,
      groupsPrefix,
      group: (name) => {
        const group = groups?.cache.get(name);
        const members = this.#members.get(name);
        return group && members ? { ...group, members: [...members] } : group;
      },
    };
  }

  #changeMember({ group, user, action }: MemberChange): void {
    const { groups, users } = this.#context;
    const known = groups?.cache.get(group);
    const account = users.accounts.get(user);
    // The dry run says why nothing changes.
    if (known?.isLocal !== true || account === undefined) return;
    const members = new Set(this.#members.get(group) ?? known.members);
    if (action === 'add') members.add(user);
    else members.delete(user);
    this.#members.set(group, members);
    for (const name of subjectNamesOf(account)) this.#name({ kind: 'User', name });
  }

  /** Bindings of UserBindings name the members of local groups, too. */
  async #rebindGroups(): Promise<void> {
    if (this.#members.size === 0) return;
    const { services, userBindings } = this.#context;
    const groups = new Set([...this.#members.keys()].map(localGroupName));
    const known = this.#known;
    const slices = new Slices();
    for (const binding of services.rbac.allBindings()) {
      const row = userBindingOf({ userBindings }, binding);
      if (row !== undefined && binding.subjects.some(({ kind, name }) => kind === 'Group' && groups.has(name)))
        this.rbac.putBinding({ ...binding, subjects: boundSubjects(row.subjects, [], known).subjects });
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
  }

  async #addUserBinding({ spec }: NewUserBinding, index: number, signal: AbortSignal): Promise<void> {
    const { subjects } = boundSubjects(spec.subjects, [], this.#known);
    for (const namespace of await this.#targets(spec, signal)) {
      const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
      // No object has a name with a blank.
      const name = `simulated ${index}`;
      this.rbac.putBinding({ kind, name, namespace, role: { kind: 'ClusterRole', name: spec.roleRef }, subjects });
    }
    for (const subject of subjects) this.#name(subject);
  }

  async #targets({ scope, constraint = [] }: NewUserBinding['spec'], signal: AbortSignal): Promise<ReadonlySet<string>> {
    if (scope === 'platform') return new Set(['']);
    if (scope === 'namespace') return new Set(constraint.flatMap(({ namespace }) => namespace ?? []));
    const projects = new Set(constraint.flatMap(({ project }) => project ?? []));
    const found = new Set<string>();
    const namespaces = new ServiceResource(this.#context.services.client, { type: namespaceResource, kind: 'Namespace' });
    for (const project of projects) {
      const labelSelector = `console.platform.io/project=${project}`;
      for await (const { metadata } of namespaces.list({ labelSelector, isMetadataOnly: true }, signal)) found.add(metadata.name);
    }
    return found;
  }

  #putRole({ role: { kind, metadata, rules } }: RoleChange): void {
    const namespace = kind === 'Role' ? (metadata.namespace ?? '') : '';
    const { name, labels } = metadata;
    const old = this.rbac.role(namespace, name);
    const merged = { ...old?.labels, ...labels };
    const kept = keptRules({ metadata: { ...(kind === 'Role' && { namespace }), labels: merged }, rules });
    this.rbac.putRole(namespace, name, { uid: '', ...(old?.aggregates && { aggregates: old.aggregates }), ...kept });
  }

  async #delete({ kind, name, namespace = '' }: Deletion): Promise<void> {
    const { rbac } = this.#context.services;
    if (kind === 'Role' || kind === 'ClusterRole') {
      this.rbac.putRole(kind === 'Role' ? namespace : '', name, undefined);
      return;
    }
    const slices = new Slices();
    for (const binding of rbac.allBindings()) {
      const isIt = kind === 'UserBinding' ? binding.userBinding === name : isNamed(binding, { kind, name, namespace });
      if (isIt) this.#removeBinding(binding);
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
  }

  #removeBinding(binding: RoleBinding): void {
    this.rbac.removeBinding(binding);
    for (const subject of binding.subjects) this.#name(subject);
  }

  /** Names the subjects of changed roles. */
  async #nameHolders(): Promise<void> {
    const { changedRoles } = this.rbac;
    if (changedRoles.size === 0) return;
    const slices = new Slices();
    for (const binding of this.#context.services.rbac.allBindings()) {
      const { role, namespace, subjects } = binding;
      if (changedRoles.has(roleKey(role.kind === 'Role' ? namespace : '', role.name))) for (const subject of subjects) this.#name(subject);
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
  }

  #name(subject: BoundSubject): void {
    this.#subjects.set(`${subject.kind} ${subject.name}`, { kind: subject.kind, name: subject.name });
  }
}

const isNamed = (binding: RoleBinding, { kind, name, namespace }: Pick<RoleBinding, 'kind' | 'name' | 'namespace'>) =>
  binding.kind === kind && binding.name === name && (kind === 'ClusterRoleBinding' || binding.namespace === namespace);
