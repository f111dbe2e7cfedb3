import { serviceUnavailable } from '../http/status.ts';
import { BindingIndex, type RoleBinding, roleBindingOf, type Subject } from './role-bindings.ts';
import { WatchCache, type WatchCacheParts } from './watch-cache.ts';

const group = 'rbac.authorization.k8s.io';
const version = 'v1';

/** What is known of a role: that there is one, and what it says of itself. Its rules the API server evaluates, not we. */
interface RoleRow {
  readonly displayName?: string;
}

const displayNameAnnotation = 'console.platform.io/display-name';

/** Watches who may do what, and says so when it changes: who is bound to which role, and which roles there are. */
export class RbacWatch {
  readonly #bindings: readonly WatchCache<RoleBinding>[];
  readonly #roles: Readonly<Record<'Role' | 'ClusterRole', WatchCache<RoleRow>>>;
  readonly #index = new BindingIndex();

  constructor(parts: WatchCacheParts, onChange: () => void) {
    const bindings = (resource: string, kind: RoleBinding['kind']) => {
      const type = { group, version, resource };
      const cache = new WatchCache<RoleBinding>(parts, { name: resource, type, keep: (object) => roleBindingOf(object, kind) });
      cache.onChange((change) => {
        this.#index.record(change);
        onChange();
      });
      return cache;
    };
    const roles = (resource: string) => {
      const type = { group, version, resource };
      const cache = new WatchCache<RoleRow>(parts, {
        name: resource,
        type,
        isMetadataOnly: true,
        // A row of its own for each version, as a change of the rules must be noticed.
        keep: ({ metadata: { annotations } }) => {
          const displayName = annotations?.[displayNameAnnotation];
          return displayName === undefined ? {} : { displayName };
        },
      });
      cache.onChange(onChange);
      return cache;
    };
    this.#roles = { Role: roles('roles'), ClusterRole: roles('clusterroles') };
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

  /** Why changes may go unnoticed for now; undefined if they do not. */
  failure(): string | undefined {
    const failed = this.#caches()
      .map((cache) => cache.failure())
      .find((why) => why !== undefined);
    return failed ?? (this.isSynced ? undefined : 'not listed yet');
  }

  /** To be called before the bindings are relied on. @throws StatusError 503 while they are not known */
  requireSynced(): void {
    if (!this.isSynced) throw serviceUnavailable('kubernetes', { cause: new Error(`role bindings: ${this.failure()}`) });
  }

  /** The bindings that name exactly this subject, from what was seen last. */
  bindingsOf(subject: Subject): readonly RoleBinding[] {
    return this.#index.of(subject);
  }

  /** The role of a binding; undefined if there is no such role. */
  roleOf({ role: { kind, name }, namespace }: RoleBinding): { displayName?: string } | undefined {
    return this.#roles[kind].get(kind === 'Role' ? `${namespace}/${name}` : name);
  }

  #caches(): readonly (WatchCache<RoleBinding> | WatchCache<RoleRow>)[] {
    return [...this.#bindings, ...Object.values(this.#roles)];
  }
}
