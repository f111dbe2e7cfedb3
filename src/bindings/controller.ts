import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Metrics } from '../http/metrics.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { Controller, type Source, type Term } from '../kubernetes/controller.ts';
import { type Change, WatchCache } from '../kubernetes/watch-cache.ts';
import { type LocalGroupLookup, localGroupOf } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { madeName } from './made-binding.ts';
import { MadeBindings } from './made-bindings.ts';
import { type NamespaceRow, namespaceResource, namespaceRow, placesOf } from './places.ts';
import { Reconciler } from './reconcile.ts';
import type { ReferenceIndex } from './reference-index.ts';
import { bindingFinalizer } from './resource.ts';
import type { UserBindingRow } from './row.ts';
import { type KnownGroup, stateOf } from './subjects.ts';

/** UserBindings worked on at one time. */
const workers = 4;
const pollMs = 100;

type GroupRow = KnownGroup & { readonly name: string };

export interface BindingsControllerOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  bindings: WatchCache<UserBindingRow>;
  references: ReferenceIndex;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  /** Undefined where groups are turned off. */
  groups: Pick<WatchCache<GroupRow>, 'get' | 'onChange' | 'state'> | undefined;
  hasRole: (name: string) => boolean;
  groupsPrefix: string;
  log: Logger;
  metrics: Metrics;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/**
 * Makes UserBindings RBAC, and keeps it so whatever changes: the UserBinding, its users and groups, namespaces and their labels, or what
 * was made. One replica does it at a time, and only that one follows namespaces and what was made. Looks are cheap where nothing has
 * changed.
 */
export const bindingsController = (options: BindingsControllerOptions): Controller =>
  new Controller({ ...options, name: 'atrium-user-bindings', workers, begin: () => new Watching(options) });

/** What is followed while this replica is the leader. */
class Watching implements Term, Source {
  readonly sources = [this];
  readonly #options: BindingsControllerOptions;
  readonly #made: MadeBindings;
  readonly #namespaces: WatchCache<NamespaceRow>;
  readonly #projects = new Map<string, Map<string, NamespaceRow>>();
  readonly #reconciler: Reconciler;
  /** What users came to when a UserBinding asked for them; a login that changes none of it does not matter here. */
  readonly #users = new Map<string, string>();
  /** Names of UserBindings, by the name of what is made for them. */
  readonly #owners = new Map<string, string>();
  #enqueue: (name: string) => void = () => undefined;

  constructor(options: BindingsControllerOptions) {
    const { accounts, groups, groupsPrefix, hasRole, now = () => new Date() } = options;
    this.#options = options;
    this.#made = new MadeBindings(options);
    this.#namespaces = new WatchCache(options, {
      name: 'namespaces_of_bindings',
      type: namespaceResource,
      isMetadataOnly: true,
      keep: namespaceRow,
    });
    const inProject = (project: string) => this.#projects.get(project)?.values() ?? [];
    this.#reconciler = new Reconciler({
      ...options,
      made: this.#made,
      known: { accounts, groupsPrefix, group: (name) => groups?.get(name), onUser: (name, state) => this.#users.set(name, state) },
      placesOf: (row) => placesOf(row, (name) => this.#namespaces.get(name), inProject),
      hasRole,
      now,
    });
  }

  onChange(enqueue: (name: string) => void): () => void {
    const { bindings, accounts, groups, references } = this.#options;
    this.#enqueue = enqueue;
    this.#made.onChange((name) => this.#onMade(name));
    this.#namespaces.onChange((change) => this.#onNamespace(change, references));
    this.#made.start();
    this.#namespaces.start();
    const forget = [
      bindings.onChange((change) => this.#onBinding(change)),
      accounts.onChange((name) => this.#onUser(name)),
      groups?.onChange((change) => this.#onGroup(change)),
    ];
    return () => {
      for (const end of forget) end?.();
    };
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    const { bindings, accounts, groups } = this.#options;
    await Promise.all([bindings, this.#made, this.#namespaces, accounts].map((followed) => followed.whenSynced(signal)));
    while (groups?.state === 'pending') await sleep(pollMs, undefined, { signal });
  }

  *keys(): Iterable<string> {
    for (const row of this.#options.bindings.values()) {
      this.#owners.set(madeName(row), row.name);
      yield row.name;
    }
  }

  reconcile(name: string, signal: AbortSignal): Promise<'done' | 'again'> {
    return this.#reconciler.reconcile(name, signal);
  }

  onFailure(name: string, error: unknown): void {
    this.#options.log.warn({ userBinding: name, err: error }, 'a UserBinding could not be made RBAC yet');
  }

  async end(): Promise<void> {
    await Promise.all([this.#made.stop(), this.#namespaces.stop()]);
  }

  #onBinding({ old, new: current }: Change<UserBindingRow>): void {
    if (old !== undefined && old.uid !== current?.uid) this.#owners.delete(madeName(old));
    if (current === undefined) return;
    this.#owners.set(madeName(current), current.name);
    // Its status is our own doing.
    const isHeld = current.finalizers.includes(bindingFinalizer);
    if (old?.uid !== current.uid || old.generation !== current.generation || old.isDeleted !== current.isDeleted || !isHeld)
      this.#enqueue(current.name);
  }

  #onUser(name: string): void {
    const { accounts, references, localGroups } = this.#options;
    const known = this.#users.get(name);
    const account = accounts.get(name);
    if (known === undefined || known === stateOf(account?.isCanonical ? account : undefined)) return;
    for (const binding of references.of('User', name)) this.#enqueue(binding);
    for (const group of localGroups.of(name)) for (const binding of references.of('Group', localGroupOf(group))) this.#enqueue(binding);
  }

  #onGroup({ key, old, new: current }: Change<GroupRow>): void {
    const { references } = this.#options;
    if (old?.uid === current?.uid && old?.isLocal === current?.isLocal && isSameList(old?.members, current?.members)) return;
    for (const binding of references.of('Group', key)) this.#enqueue(binding);
  }

  #onNamespace({ key, old, new: current }: Change<NamespaceRow>, references: ReferenceIndex): void {
    if (old?.project) this.#projects.get(old.project)?.delete(key);
    if (old?.project && this.#projects.get(old.project)?.size === 0) this.#projects.delete(old.project);
    if (current?.project) this.#projects.set(current.project, (this.#projects.get(current.project) ?? new Map()).set(key, current));
    if (old?.project === current?.project && old?.isEnding === current?.isEnding) return;
    const projects = new Set([old?.project ?? '', current?.project ?? '']);
    for (const binding of references.of('namespace', key)) this.#enqueue(binding);
    for (const project of projects) for (const binding of references.of('project', project)) this.#enqueue(binding);
  }

  #onMade(name: string): void {
    const binding = this.#owners.get(name);
    if (binding !== undefined) this.#enqueue(binding);
  }
}

const isSameList = (left: readonly string[] = [], right: readonly string[] = []) =>
  left.length === right.length && left.every((one, index) => one === right[index]);
