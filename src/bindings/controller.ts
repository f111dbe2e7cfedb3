import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { type Change, WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { issuersOf } from '../config/issuers.ts';
import type { GroupRow } from '../groups/row.ts';
import type { Services } from '../services.ts';
import { type LocalGroupLookup, localGroupOf } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { ManagedBindings } from './managed-bindings.ts';
import { type ReconcileContext, reconcile } from './reconcile.ts';
import { managedName } from './role-binding.ts';
import type { UserBindingRow } from './row.ts';
import { bindingFinalizer } from './schema.ts';
import { stateOf } from './subjects.ts';
import { type NamespaceRow, namespaceResource, namespaceRow, targetNamespaces } from './target-namespaces.ts';

/** UserBindings reconciled concurrently. */
const workers = 4;

/** The watched objects that UserBindings depend on. */
export interface BindingSources {
  readonly bindings: WatchCache<UserBindingRow>;
  readonly references: DependencyIndex;
  readonly accounts: AccountLookup;
  readonly localGroups: LocalGroupLookup;
  /** Undefined where groups are disabled. */
  readonly groups: WatchCache<GroupRow> | undefined;
}

/**
 * Creates the RBAC of UserBindings, and reconciles it when the UserBinding, its users, groups and role, namespaces and their labels, or
 * the managed bindings change. Only the leader does so, and only the leader watches namespaces and managed bindings. Reconciling is cheap
 * if nothing has changed.
 */
export const bindingsController = (services: Services, sources: BindingSources): Controller =>
  new Controller(services, { name: 'atrium-user-bindings', workers, begin: () => new BindingsTerm(services, sources) });

/** Watches and state of the replica while it is the leader. */
class BindingsTerm implements Term, Source {
  readonly sources = [this];
  readonly #services: Services;
  readonly #sources: BindingSources;
  readonly #managed: ManagedBindings;
  readonly #namespaces: WatchCache<NamespaceRow>;
  readonly #projects = new Map<string, Map<string, NamespaceRow>>();
  readonly #context: ReconcileContext;
  /** The last known state of each user that a UserBinding names. Logins that change none of it cause no reconciliation. */
  readonly #users = new Map<string, string>();
  /** Names of UserBindings by the name of their managed bindings. */
  readonly #owners = new Map<string, string>();
  #enqueue: (name: string) => void = () => undefined;

  constructor(services: Services, sources: BindingSources) {
    const { bindings, accounts, groups } = sources;
    // A bare group name belongs to the first issuer; groups of other issuers are named with their prefix.
    const { groupsPrefix } = (issuersOf(services.config)[0] ?? services.config.login).claims;
    this.#services = services;
    this.#sources = sources;
    this.#managed = new ManagedBindings(services);
    this.#namespaces = new WatchCache(services, {
      name: 'namespaces_of_bindings',
      type: namespaceResource,
      isMetadataOnly: true,
      keep: namespaceRow,
    });
    const inProject = (project: string) => this.#projects.get(project)?.values() ?? [];
    this.#context = {
      services,
      bindings,
      managed: this.#managed,
      known: { accounts, groupsPrefix, group: (name) => groups?.get(name), onUser: (name, state) => this.#users.set(name, state) },
      targetsOf: (row) => targetNamespaces(row, (name) => this.#namespaces.get(name), inProject),
    };
  }

  onChange(enqueue: (name: string) => void): () => void {
    const { bindings, accounts, groups, references } = this.#sources;
    this.#enqueue = enqueue;
    this.#managed.onChange((name) => this.#onManaged(name));
    this.#namespaces.onChange((change) => this.#onNamespace(change, references));
    this.#managed.start();
    this.#namespaces.start();
    const forget = [
      bindings.onChange((change) => this.#onBinding(change)),
      accounts.onChange((name) => this.#onUser(name)),
      groups?.onChange((change) => this.#onGroup(change)),
      this.#services.rbac.onClusterRole((name) => this.#onRole(name, references)),
    ];
    return () => {
      for (const end of forget) end?.();
    };
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    const { bindings, accounts, groups } = this.#sources;
    await Promise.all([bindings, this.#managed, this.#namespaces, accounts.watch].map((followed) => followed.whenSynced(signal)));
    await groups?.whenSynced(signal, { orNotInstalled: true });
  }

  *keys(): Iterable<string> {
    for (const row of this.#sources.bindings.values()) {
      this.#owners.set(managedName(row), row.name);
      yield row.name;
    }
  }

  reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    return reconcile(this.#context, name, signal);
  }

  onFailure(name: string, error: unknown): void {
    this.#services.log.warn({ userBinding: name, err: error }, 'role bindings of a UserBinding could not be written');
  }

  async end(): Promise<void> {
    await Promise.all([this.#managed.stop(), this.#namespaces.stop()]);
  }

  #onBinding({ old, new: current }: Change<UserBindingRow>): void {
    if (old !== undefined && old.uid !== current?.uid) this.#owners.delete(managedName(old));
    if (current === undefined) return;
    this.#owners.set(managedName(current), current.name);
    // The controller writes the status itself.
    const isHeld = current.finalizers.includes(bindingFinalizer);
    if (old?.uid !== current.uid || old.generation !== current.generation || old.isDeleted !== current.isDeleted || !isHeld)
      this.#enqueue(current.name);
  }

  #onUser(name: string): void {
    const { accounts, references, localGroups } = this.#sources;
    const known = this.#users.get(name);
    const account = accounts.get(name);
    if (known === undefined || known === stateOf(account?.isCanonical ? account : undefined)) return;
    for (const binding of references.of('User', name)) this.#enqueue(binding);
    for (const group of localGroups.of(name)) for (const binding of references.of('Group', localGroupOf(group))) this.#enqueue(binding);
  }

  #onGroup({ key, old, new: current }: Change<GroupRow>): void {
    const { references } = this.#sources;
    if (old?.uid === current?.uid && old?.isLocal === current?.isLocal && isSameList(old?.members, current?.members)) return;
    for (const binding of references.of('Group', key)) this.#enqueue(binding);
  }

  #onRole(name: string, references: DependencyIndex): void {
    for (const binding of references.of('ClusterRole', name)) this.#enqueue(binding);
  }

  #onNamespace({ key, old, new: current }: Change<NamespaceRow>, references: DependencyIndex): void {
    if (old?.project) this.#projects.get(old.project)?.delete(key);
    if (old?.project && this.#projects.get(old.project)?.size === 0) this.#projects.delete(old.project);
    if (current?.project) this.#projects.set(current.project, (this.#projects.get(current.project) ?? new Map()).set(key, current));
    if (old?.project === current?.project && old?.isEnding === current?.isEnding) return;
    const projects = new Set([old?.project ?? '', current?.project ?? '']);
    for (const binding of references.of('namespace', key)) this.#enqueue(binding);
    for (const project of projects) for (const binding of references.of('project', project)) this.#enqueue(binding);
  }

  #onManaged(name: string): void {
    const binding = this.#owners.get(name);
    if (binding !== undefined) this.#enqueue(binding);
  }
}

const isSameList = (left: readonly string[] = [], right: readonly string[] = []) =>
  left.length === right.length && left.every((one, index) => one === right[index]);

/** Kinds of objects that a UserBinding depends on. */
type Reference = 'User' | 'Group' | 'ClusterRole' | 'namespace' | 'project';

const keyOf = (kind: Reference, name: string) => `${kind} ${name}`;

/** Index of UserBindings by their dependencies. Changes update it, so that a lookup without a result costs nothing. */
export class DependencyIndex {
  readonly #names = new Map<string, Set<string>>();

  /** Records a change. The caller passes every change of the watched UserBindings. */
  record({ old, new: current }: Change<UserBindingRow>): void {
    for (const key of old ? keysOf(old) : []) {
      const names = this.#names.get(key);
      names?.delete(old?.name ?? '');
      if (names?.size === 0) this.#names.delete(key);
    }
    for (const key of current ? keysOf(current) : []) {
      const names = this.#names.get(key);
      if (names === undefined) this.#names.set(key, new Set([current?.name ?? '']));
      else names.add(current?.name ?? '');
    }
  }

  /** Returns the names of the UserBindings that depend on the object. */
  of(kind: Reference, name: string): ReadonlySet<string> {
    return this.#names.get(keyOf(kind, name)) ?? none;
  }
}

const none: ReadonlySet<string> = new Set();

const keysOf = ({ subjects, roleRef, namespaces, projects }: UserBindingRow): string[] => [
  ...subjects.map(({ kind, name }) => keyOf(kind, name)),
  keyOf('ClusterRole', roleRef),
  ...namespaces.map((name) => keyOf('namespace', name)),
  ...projects.map((name) => keyOf('project', name)),
];
