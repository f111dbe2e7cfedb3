import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { Subject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { upstreamRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { Services } from '../services.ts';
import {
  clusterRoleBindings,
  hasMore,
  hasRole,
  isManagedFor,
  type ManagedMembers,
  type ManagedRow,
  managedKind,
  managedManifest,
  managedMembers,
  managedName,
  managedRow,
  type Owner,
  roleBindings,
  wantedDigest,
} from './role-binding.ts';
import { bindingLabel } from './schema.ts';

export type Outcome =
  | 'ensured'
  /** A binding of that name exists and was not created for this UserBinding. */
  | 'taken'
  /** The service may not bind the role. Subjects that are no longer wanted are unbound all the same. */
  | 'not-allowed'
  | 'no-namespace'
  /** The API server refuses the binding. */
  | { refused: string };

/**
 * Watches and writes the RBAC bindings of UserBindings with the service's own account. Only the leader does so.
 */
export class ManagedBindings {
  readonly #client: ServiceClient;
  readonly #inNamespaces: WatchCache<ManagedRow>;
  readonly #inCluster: WatchCache<ManagedRow>;
  /** Namespaces with a binding, by the name of the bindings; '' for the cluster. */
  readonly #namespaces = new Map<string, Set<string>>();

  constructor(services: Services) {
    this.#client = services.client;
    const selection = { labelSelector: bindingLabel, keep: managedRow };
    this.#inNamespaces = new WatchCache(services, { name: 'made_rolebindings', type: roleBindings, ...selection });
    this.#inCluster = new WatchCache(services, { name: 'made_clusterrolebindings', type: clusterRoleBindings, ...selection });
    for (const cache of this.#caches()) {
      cache.onChange(({ old, new: current }) => {
        if (old !== undefined) this.#forget(old);
        if (current !== undefined) this.#note(current);
      });
    }
  }

  start(): void {
    for (const cache of this.#caches()) cache.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#caches().map((cache) => cache.stop()));
  }

  /** @throws the signal's reason when it aborts before */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#caches().map((cache) => cache.whenSynced(signal)));
  }

  /** Calls the listener with the name of every binding that is added, changed or deleted. */
  onChange(listener: (managedName: string) => void): void {
    for (const cache of this.#caches())
      cache.onChange(({ old, new: current }) => {
        const row = current ?? old;
        if (row !== undefined) listener(row.name);
      });
  }

  /** Returns the namespaces with a binding of that UserBinding; '' for the cluster. */
  namespacesOf(owner: Owner): string[] {
    const name = managedName(owner);
    return [...(this.#namespaces.get(name) ?? [])].filter((namespace) => {
      const row = this.#get(namespace, name);
      return row !== undefined && isManagedFor(row, owner);
    });
  }

  /**
   * Ensures that the binding exists with these subjects.
   *
   * @param namespace '' for the cluster
   * @throws StatusError 503, 504
   */
  async ensure(owner: Owner, namespace: string, subjects: readonly Subject[], signal: AbortSignal): Promise<Outcome> {
    const members = managedMembers(owner, subjects);
    const row = this.#get(namespace, managedName(owner));
    if (row === undefined || !isManagedFor(row, owner)) return this.#create(owner, namespace, members, signal);
    if (!hasRole(row, owner)) {
      await this.#delete(row, signal);
      return this.#create(owner, namespace, members, signal);
    }
    if (row.digest === wantedDigest(members)) return 'ensured';
    return this.#patch(row, owner, members, signal);
  }

  /** Removes the binding of that UserBinding from the namespace. @throws StatusError 503, 504 */
  async remove(owner: Owner, namespace: string, signal: AbortSignal): Promise<void> {
    const row = this.#get(namespace, managedName(owner));
    if (row !== undefined && isManagedFor(row, owner)) await this.#delete(row, signal);
  }

  async #create(owner: Owner, namespace: string, members: ManagedMembers, signal: AbortSignal): Promise<Outcome> {
    try {
      const created = await this.#resource(namespace).create(managedManifest(owner, namespace, members), { signal });
      if (created === 'conflict') return this.#adopt(owner, namespace, members, signal);
      // A later removal could miss a binding that the watch does not show.
      await this.#cache(namespace).waitForWrite(created.metadata.resourceVersion, signal);
      return 'ensured';
    } catch (error) {
      return outcomeOf(error, owner.roleRef);
    }
  }

  /** Updates a binding that exists and is missing in the watch: its label was removed, or it is new. */
  async #adopt(owner: Owner, namespace: string, members: ManagedMembers, signal: AbortSignal): Promise<Outcome> {
    const found = await this.#find(owner, namespace, signal);
    // The binding was deleted meanwhile. The next reconciliation creates it.
    if (found === undefined) throw new Error('a binding of that name was deleted');
    const row = managedRow(found);
    if (!isManagedFor(row, owner)) return 'taken';
    if (hasRole(row, owner)) return this.#patch(row, owner, members, signal);
    await this.#delete(row, signal);
    throw new Error('a binding with another role must be created again');
  }

  async #patch(row: ManagedRow, owner: Owner, members: ManagedMembers, signal: AbortSignal): Promise<Outcome> {
    const { namespace, name, resourceVersion } = row;
    const change = { metadata: { resourceVersion, ...members.metadata }, subjects: members.subjects };
    try {
      const written = await this.#resource(namespace).patch(name, change, { signal });
      if (written === 'conflict' || written === 'gone') throw new Error('a binding was changed by another writer');
      await this.#cache(namespace).waitForWrite(written.metadata.resourceVersion, signal);
      return 'ensured';
    } catch (error) {
      const outcome = outcomeOf(error, owner.roleRef);
      // A change of subjects needs the right to bind the role. Deleting the binding needs none, and revokes the role of all subjects.
      if (outcome === 'not-allowed') await this.#endForMore(row, owner, members, signal);
      return outcome;
    }
  }

  async #endForMore(row: ManagedRow, owner: Owner, members: ManagedMembers, signal: AbortSignal): Promise<void> {
    const found = await this.#find(owner, row.namespace, signal);
    if (found !== undefined && hasMore(found, members)) await this.#delete(row, signal);
  }

  async #delete({ namespace, name, uid }: ManagedRow, signal: AbortSignal): Promise<void> {
    await this.#resource(namespace).remove(name, { preconditions: { uid }, signal });
  }

  #find(owner: Owner, namespace: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    return this.#resource(namespace).getByList(managedName(owner), signal);
  }

  #resource(namespace: string): ServiceResource {
    return new ServiceResource(this.#client, managedKind(namespace));
  }

  #get(namespace: string, name: string): ManagedRow | undefined {
    return namespace === '' ? this.#inCluster.get(name) : this.#inNamespaces.get(`${namespace}/${name}`);
  }

  #note({ name, namespace }: ManagedRow): void {
    const namespaces = this.#namespaces.get(name);
    if (namespaces === undefined) this.#namespaces.set(name, new Set([namespace]));
    else namespaces.add(namespace);
  }

  #forget({ name, namespace }: ManagedRow): void {
    const namespaces = this.#namespaces.get(name);
    namespaces?.delete(namespace);
    if (namespaces?.size === 0) this.#namespaces.delete(name);
  }

  #cache(namespace: string): WatchCache<ManagedRow> {
    return namespace === '' ? this.#inCluster : this.#inNamespaces;
  }

  #caches(): readonly WatchCache<ManagedRow>[] {
    return [this.#inNamespaces, this.#inCluster];
  }
}

/** @throws the error itself, unless it is a refusal of this binding */
export function outcomeOf(error: unknown, roleRef: string): Outcome {
  const { code = 0, reason, message = '', details } = upstreamRefusal(error)?.status ?? {};
  const isEnding = details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') ?? false;
  if (isEnding) return 'no-namespace';
  if (code === 403) return 'not-allowed';
  // The API server reads the role to decide whether it may be bound. If the role is missing, its 404 names the role, not the binding.
  if (code === 404 && /role/.test(details?.kind ?? '') && details?.name === roleRef) return 'not-allowed';
  if (code === 404 && details?.kind === 'namespaces') return 'no-namespace';
  if (code === 422 || code === 400 || code === 413) return { refused: `${reason ?? code}: ${message}` };
  throw error;
}
