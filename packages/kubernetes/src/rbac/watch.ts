import type { LabelMatcher } from '@atrium/objects/selectors.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { KubernetesObject } from '../resource.ts';
import { compareResourceVersions } from '../resource-version.ts';
import { WatchCache, type WatchCacheParts } from '../watch/watch-cache.ts';
import { BindingIndex, type BoundSubject, type RoleBinding, roleBindingOf } from './role-bindings.ts';
import { keptRules, type PolicyRule } from './rules.ts';

const group = 'rbac.authorization.k8s.io';
const version = 'v1';

/** Kept members of a role: its display name, and its rules if rules are kept. */
export interface RoleRow {
  readonly uid: string;
  readonly displayName?: string;
  readonly rules?: readonly PolicyRule[];
  /** Labels of a ClusterRole, by which others aggregate it. Kept with rules. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Set for a ClusterRole whose rules are those of the roles that a matcher selects. Kept with rules. */
  readonly aggregates?: readonly LabelMatcher[];
}

/** An existing role. */
export interface NamedRole {
  readonly kind: 'Role' | 'ClusterRole';
  readonly name: string;
  /** '' for a ClusterRole. */
  readonly namespace: string;
  readonly rules: readonly PolicyRule[];
}

export interface RbacWatchOptions {
  /** Called after each change. */
  onChange: () => void;
  /** Keeps the rules of roles and the service accounts of bindings, which takes memory. Default: false. */
  keepsRules?: boolean;
}

/** Seconds without news after which the roles are too old to tell who may do something. */
const maxAgeSeconds = 60;

const displayNameAnnotation = 'console.platform.io/display-name';

/** Watches roles and role bindings, and reports their changes. */
export class RbacWatch {
  readonly #bindings: readonly WatchCache<RoleBinding>[];
  readonly #roles: Readonly<Record<'Role' | 'ClusterRole', WatchCache<RoleRow>>>;
  readonly #index = new BindingIndex();
  readonly #lossListeners = new Set<(subjects: Iterable<BoundSubject>) => void>();

  constructor(parts: WatchCacheParts, { onChange, keepsRules = false }: RbacWatchOptions) {
    const bindings = (resource: string, kind: RoleBinding['kind']) => {
      const type = { group, version, resource };
      const keep = (object: KubernetesObject) => roleBindingOf(object, kind, keepsRules);
      const cache = new WatchCache<RoleBinding>(parts, { name: resource, type, keep });
      cache.onChange((change) => {
        this.#index.record(change);
        onChange();
        if (change.old !== undefined) this.#lose(change.old.subjects);
      });
      return cache;
    };
    const roles = (resource: string, kind: NamedRole['kind']) => {
      const type = { group, version, resource };
      const cache = new WatchCache<RoleRow>(parts, {
        name: resource,
        type,
        isMetadataOnly: !keepsRules,
        // A new row for each version, because a change of the rules must be noticed.
        keep: (object) => {
          const { uid, annotations } = object.metadata;
          const displayName = annotations?.[displayNameAnnotation];
          return { uid, ...(displayName !== undefined && { displayName }), ...(keepsRules && keptRules(object)) };
        },
      });
      cache.onChange(({ key, old }) => {
        onChange();
        if (old !== undefined) this.#lose(this.#subjectsOf(kind, key));
      });
      return cache;
    };
    this.#roles = { Role: roles('roles', 'Role'), ClusterRole: roles('clusterroles', 'ClusterRole') };
    this.#bindings = [bindings('rolebindings', 'RoleBinding'), bindings('clusterrolebindings', 'ClusterRoleBinding')];
  }

  start(): void {
    for (const cache of this.#caches()) cache.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#caches().map((cache) => cache.stop()));
  }

  get isSynced(): boolean {
    return this.#caches().every((cache) => cache.isSynced);
  }

  /** Returns the reason why changes may go unnoticed for now, undefined if there is none. */
  failure(): string | undefined {
    const failed = this.#caches()
      .map((cache) => cache.failure())
      .find((why) => why !== undefined);
    return failed ?? (this.isSynced ? undefined : 'not listed yet');
  }

  /**
   * Checks that roles and bindings are known. Must be called before they are relied on.
   *
   * @throws StatusError 503 if they are not listed yet
   */
  requireSynced(): void {
    if (!this.isSynced) throw serviceUnavailable('kubernetes', { cause: new Error(`role bindings: ${this.failure()}`) });
  }

  /**
   * Checks that the bindings are current, for callers to whom a missing binding would grant too much.
   *
   * @throws StatusError 503 if they are not listed yet, or may be stale
   */
  requireCurrent(): void {
    this.requireSynced();
    if (this.#bindings.some((cache) => cache.isStale()))
      throw serviceUnavailable('kubernetes', {
        cause: new Error(`role bindings: ${this.failure() ?? 'the watch was silent for too long'}`),
      });
  }

  /** Checks that roles and bindings are at most a minute old, for answers about other users. @throws StatusError 503 */
  requireRecent(): void {
    this.requireSynced();
    if (this.#caches().some((cache) => cache.ageSeconds() > maxAgeSeconds))
      throw serviceUnavailable('kubernetes', { cause: new Error(`roles: ${this.failure() ?? 'the watch was silent for too long'}`) });
  }

  /** Returns all ClusterRoleBindings for '', otherwise the RoleBindings of a namespace. */
  *bindingsIn(namespace: string): IterableIterator<RoleBinding> {
    const [local, clusterWide] = this.#bindings;
    for (const binding of (namespace === '' ? clusterWide : local)?.values() ?? []) if (binding.namespace === namespace) yield binding;
  }

  /** Returns the bindings that name exactly this subject, as they were last seen. */
  bindingsOf(subject: BoundSubject): readonly RoleBinding[] {
    return this.#index.of(subject);
  }

  /** Returns a binding, as it was last seen. @param namespace '' for a ClusterRoleBinding */
  binding(namespace: string, name: string): RoleBinding | undefined {
    const [local, clusterWide] = this.#bindings;
    return namespace === '' ? clusterWide?.get(name) : local?.get(`${namespace}/${name}`);
  }

  /** Returns all ClusterRoleBindings and RoleBindings. */
  *allBindings(): IterableIterator<RoleBinding> {
    for (const cache of this.#bindings) yield* cache.values();
  }

  /** Returns the ClusterRoles by name. */
  clusterRoles(): IterableIterator<[string, RoleRow]> {
    return this.#roles.ClusterRole.entries();
  }

  /** Returns a role. @param namespace '' for a ClusterRole */
  role(namespace: string, name: string): RoleRow | undefined {
    return namespace === '' ? this.#roles.ClusterRole.get(name) : this.#roles.Role.get(`${namespace}/${name}`);
  }

  /** Newest version of a role or binding that was seen. */
  get resourceVersion(): string {
    return this.#caches().reduce(
      (newest, { resourceVersion }) => ((compareResourceVersions(resourceVersion, newest) ?? 1) > 0 ? resourceVersion : newest),
      '',
    );
  }

  hasClusterRole(name: string): boolean {
    return this.#roles.ClusterRole.get(name) !== undefined;
  }

  /** Returns the UID of a ClusterRole, undefined if it does not exist. */
  clusterRoleUID(name: string): string | undefined {
    return this.#roles.ClusterRole.get(name)?.uid;
  }

  /** Returns the rules of a ClusterRole, undefined if it does not exist or rules are not kept. */
  clusterRoleRules(name: string): readonly PolicyRule[] | undefined {
    return this.#roles.ClusterRole.get(name)?.rules;
  }

  /** Waits until roles and bindings are listed. @throws the reason of the signal if it aborts before */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#caches().map((cache) => cache.whenSynced(signal)));
  }

  /**
   * Calls the listener for each ClusterRole that is created, deleted, or replaced by another of its name.
   *
   * @returns a function that removes the listener
   */
  onClusterRole(listener: (name: string) => void): () => void {
    return this.#roles.ClusterRole.onChange(({ key, old, new: current }) => {
      if (old?.uid !== current?.uid) listener(key);
    });
  }

  /** Calls the listener for each change of a ClusterRole, also one of its rules. @returns a function that removes the listener */
  onClusterRoleChange(listener: (name: string) => void): () => void {
    return this.#roles.ClusterRole.onChange(({ key }) => listener(key));
  }

  /**
   * Calls the listener when a binding or a role is deleted or changed, with the subjects that may have fewer rights since. They are found
   * while they are read. Service accounts are named only if they are kept.
   */
  onLoss(listener: (subjects: Iterable<BoundSubject>) => void): void {
    this.#lossListeners.add(listener);
  }

  /** Returns the role of a binding, undefined if it does not exist. */
  roleOf({ role: { kind, name }, namespace }: RoleBinding): RoleRow | undefined {
    return this.#roles[kind].get(kind === 'Role' ? `${namespace}/${name}` : name);
  }

  /** Returns all ClusterRoles, and the Roles of a namespace unless it is ''. Their rules are empty if rules are not kept. */
  *rolesFor(namespace: string): IterableIterator<NamedRole> {
    for (const [name, { rules = [] }] of this.#roles.ClusterRole.entries()) yield { kind: 'ClusterRole', name, namespace: '', rules };
    if (namespace === '') return;
    const prefix = `${namespace}/`;
    for (const [key, { rules = [] }] of this.#roles.Role.entries()) {
      if (key.startsWith(prefix)) yield { kind: 'Role', name: key.slice(prefix.length), namespace, rules };
    }
  }

  /** A number that grows with every change of a role or binding, and only then. */
  get revision(): number {
    return this.#caches().reduce((sum, { revision }) => sum + revision, 0);
  }

  #lose(subjects: Iterable<BoundSubject>): void {
    for (const listener of this.#lossListeners) listener(subjects);
  }

  /** Returns the subjects of a role's bindings. @param key key of the role in its cache */
  *#subjectsOf(kind: NamedRole['kind'], key: string): IterableIterator<BoundSubject> {
    for (const bindings of this.#bindings)
      for (const { role, namespace, subjects } of bindings.values())
        if (role.kind === kind && key === (kind === 'Role' ? `${namespace}/${role.name}` : role.name)) yield* subjects;
  }

  #caches(): readonly (WatchCache<RoleBinding> | WatchCache<RoleRow>)[] {
    return [...this.#bindings, ...Object.values(this.#roles)];
  }
}
