/** Ends of UserBindings at replicas that do not lead: a leader that was killed is replaced only after the duration of its Lease. */
import { type Outcome, WorkQueue } from '../controllers/work-queue.ts';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import type { Services } from '../services.ts';
import type { WatchCache } from '../watch/watch-cache.ts';
import { termOf } from './expiry.ts';
import { isManagedFor, managedKind, managedName, managedRow, roleBindings } from './role-binding.ts';
import { type UserBindingRow, userBindingRow } from './row.ts';
import { bindingFinalizer, bindingLabel, bindingLabelValue, userBindingKind } from './schema.ts';

/** Time in which the leader ends a UserBinding. Other replicas begin within another second, not all at once. */
const leaderMs = 2_000;
const spreadMs = 1_000;
const workers = 2;

/**
 * Removes the RBAC of UserBindings that have expired or are deleted, and that the leader has left for two seconds. Deletions name the UID,
 * so that replicas may make them at once. The status and the finalizer are left to the leader.
 */
export class BindingEnds {
  readonly #services: Services;
  readonly #bindings: WatchCache<UserBindingRow>;
  readonly #queue: WorkQueue;
  readonly #stopping = new AbortController();
  /** Times since which UserBindings are deleted, by name: the deletion says when it was asked for, not when this replica saw it. */
  readonly #deletedAt = new Map<string, number>();
  #running: Promise<void> | undefined;
  #forget: () => unknown = () => undefined;

  constructor(services: Services, bindings: WatchCache<UserBindingRow>) {
    this.#services = services;
    this.#bindings = bindings;
    this.#queue = new WorkQueue({ workers, now: services.now, clock: services.clock });
  }

  start(): void {
    const { signal } = this.#stopping;
    this.#forget = this.#bindings.onChange(({ key, new: current }) => {
      if (current?.isDeleted !== true) this.#deletedAt.delete(key);
      if (current !== undefined && (current.isDeleted || current.expiresAt !== undefined)) this.#queue.add(key);
    });
    const work = {
      reconcile: (name: string) => this.#reconcile(name, signal),
      onFailure: (name: string, err: unknown) =>
        this.#services.log.warn({ userBinding: name, err }, 'role bindings of an ended UserBinding could not be deleted'),
    };
    this.#running = this.#queue.run(work, signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    this.#forget();
    await this.#running;
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const row = this.#bindings.get(name);
    const endsAt = row && this.#endOf(row);
    if (endsAt === undefined) return 'done';
    const dueAt = endsAt + leaderMs;
    const now = this.#services.now().getTime();
    if (now < dueAt) return { requeueAt: dueAt + Math.random() * spreadMs };
    const stored = await this.#stored(name, signal);
    if (stored === undefined || this.#endOf(stored) === undefined || !hasEnded(stored, this.#services)) return 'done';
    await this.#removeRoles(stored, signal);
    return 'done';
  }

  /** Returns the time at which the role of a UserBinding ends, undefined if it has none or the leader has ended it. */
  #endOf({ name, isDeleted, finalizers, expiresAt, phase }: UserBindingRow): number | undefined {
    if (!isDeleted) return phase === 'Expired' ? undefined : expiresAt;
    if (!finalizers.includes(bindingFinalizer)) return undefined;
    const since = this.#deletedAt.get(name) ?? this.#services.now().getTime();
    this.#deletedAt.set(name, since);
    return since;
  }

  /** Reads the present UserBinding: its end may have been put off. The service may list UserBindings, but not get them by name. */
  async #stored(name: string, signal: AbortSignal): Promise<UserBindingRow | undefined> {
    const bindings = new ServiceResource(this.#services.client, userBindingKind);
    for await (const object of bindings.list({ fieldSelector: `metadata.name=${name}` }, signal)) return userBindingRow(object);
    return undefined;
  }

  async #removeRoles(owner: UserBindingRow, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#services;
    const selection = {
      labelSelector: `${bindingLabel}=${bindingLabelValue(owner.name)}`,
      fieldSelector: `metadata.name=${managedName(owner)}`,
    };
    let deleted = 0;
    for (const everywhere of [managedKind(''), rolesOfNamespaces])
      for await (const object of new ServiceResource(client, everywhere).list(selection, signal)) {
        const { name, namespace, uid, ...row } = managedRow(object);
        if (!isManagedFor({ name, ...row }, owner)) continue;
        await new ServiceResource(client, managedKind(namespace)).remove(name, { preconditions: { uid }, signal });
        deleted += 1;
      }
    if (deleted > 0) log.info({ userBinding: owner.name, deleted }, 'role bindings of an ended UserBinding deleted in place of the leader');
  }
}

const hasEnded = (row: UserBindingRow, services: Services): boolean => row.isDeleted || termOf(row, services).state === 'Expired';

/** RoleBindings of all namespaces. */
const rolesOfNamespaces = { type: roleBindings, kind: 'RoleBinding' };
