/** Ends of UserBindings at replicas that do not lead: a leader that was killed is replaced only after the duration of its Lease. */
import type { Source } from '@atrium/kubernetes/controllers/controller.ts';
import { type Outcome, WorkQueue } from '@atrium/kubernetes/controllers/work-queue.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { Services } from '../services.ts';
import { termOf } from './expiry.ts';
import { isManagedFor, managedKind, managedName, managedRow, roleBindings } from './role-binding.ts';
import { type UserBindingRow, userBindingRow } from './row.ts';
import { bindingFinalizer, bindingLabel, bindingLabelValue, userBindingKind } from './schema.ts';

/** Time in which the leader ends a UserBinding. Other replicas begin within another second, not all at once. */
export const leaderMs = 2_000;
const spreadMs = 1_000;
const workers = 2;

/** A rule that ends UserBindings, and the names of the UserBindings that it may concern. */
export interface EndRule extends Source {
  /**
   * Returns the time at which the role of a UserBinding ends, in milliseconds since 1970; 'now' for an end without a time. Undefined if it
   * has none, or if the leader has ended it.
   */
  endOf(row: UserBindingRow): number | 'now' | undefined;
}

/** Ends UserBindings that have expired or are deleted. */
export function ownEnds(bindings: WatchCache<UserBindingRow>): EndRule {
  return {
    onChange: (enqueue) =>
      bindings.onChange(({ key, new: current }) => {
        if (current !== undefined && (current.isDeleted || current.expiresAt !== undefined)) enqueue(key);
      }),
    whenSynced: (signal) => bindings.whenSynced(signal),
    endOf({ isDeleted, finalizers, expiresAt, phase }) {
      if (isDeleted) return finalizers.includes(bindingFinalizer) ? 'now' : undefined;
      return phase === 'Expired' ? undefined : expiresAt;
    },
  };
}

/**
 * Removes the RBAC of UserBindings that have ended by a rule, and that the leader has left for two seconds. Deletions name the UID, so that
 * replicas may make them at once. The status and the finalizer are left to the leader.
 */
export class BindingEnds {
  readonly #services: Services;
  readonly #bindings: WatchCache<UserBindingRow>;
  readonly #rule: EndRule;
  readonly #queue: WorkQueue;
  readonly #stopping = new AbortController();
  /** Times since which this replica sees ends without a time, by name. */
  readonly #seenAt = new Map<string, number>();
  #running: Promise<unknown> | undefined;
  #forget: () => unknown = () => undefined;

  constructor(services: Services, bindings: WatchCache<UserBindingRow>, rule: EndRule) {
    this.#services = services;
    this.#bindings = bindings;
    this.#rule = rule;
    this.#queue = new WorkQueue({ workers, now: services.now, clock: services.clock });
  }

  start(): void {
    const { signal } = this.#stopping;
    this.#forget = this.#rule.onChange((name) => this.#queue.add(name));
    this.#running = this.#run(signal).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    this.#forget();
    await this.#running;
  }

  /** @throws the reason of the signal if it aborts before the objects are known */
  async #run(signal: AbortSignal): Promise<void> {
    await this.#rule.whenSynced(signal);
    const work = {
      reconcile: (name: string) => this.#reconcile(name, signal),
      onFailure: (name: string, err: unknown) =>
        this.#services.log.warn({ userBinding: name, err }, 'role bindings of an ended UserBinding could not be deleted'),
    };
    await Promise.all([this.#queue.run(work, signal), this.#queue.addAll(this.#rule.keys?.() ?? [], signal)]);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const row = this.#bindings.get(name);
    const endsAt = this.#endOf(name, row);
    if (endsAt === undefined) return 'done';
    const dueAt = endsAt + leaderMs;
    if (this.#now() < dueAt) return { requeueAt: dueAt + Math.random() * spreadMs };
    const stored = await readUserBindingRow(this.#services.client, name, signal);
    const storedEnd = stored && this.#rule.endOf(stored);
    if (stored === undefined || storedEnd === undefined || (storedEnd !== 'now' && this.#now() < storedEnd)) return 'done';
    await this.#end(stored, signal);
    return 'done';
  }

  #now(): number {
    return this.#services.now().getTime();
  }

  #endOf(name: string, row: UserBindingRow | undefined): number | undefined {
    const end = row && this.#rule.endOf(row);
    if (end !== 'now') {
      this.#seenAt.delete(name);
      return end;
    }
    const since = this.#seenAt.get(name) ?? this.#now();
    this.#seenAt.set(name, since);
    return since;
  }

  async #end(owner: UserBindingRow, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#services;
    const { name, uid } = owner;
    // The controller of UserBindings may have a leader, which would give the role again.
    if (!owner.isDeleted && termOf(owner, this.#services).state !== 'Expired')
      await new ServiceResource(client, userBindingKind).remove(name, {
        propagationPolicy: 'Background',
        preconditions: { uid },
        signal,
      });
    const deleted = await removeRoles(client, owner, signal);
    if (deleted > 0) log.info({ userBinding: name, deleted }, 'role bindings of an ended UserBinding deleted in place of the leader');
  }
}

/** Deletes the RBAC of a UserBinding, in place of the leader. @returns the number of deleted bindings; @throws StatusError 503, 504 */
export async function removeRoles(client: ServiceClient, owner: UserBindingRow, signal: AbortSignal): Promise<number> {
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
  return deleted;
}

/** Reads a UserBinding from the API server. @throws StatusError 503, 504 */
export async function readUserBindingRow(client: ServiceClient, name: string, signal: AbortSignal): Promise<UserBindingRow | undefined> {
  const stored = await new ServiceResource(client, userBindingKind).getByList(name, signal);
  return stored && userBindingRow(stored);
}

/** RoleBindings of all namespaces. */
const rolesOfNamespaces = { type: roleBindings, kind: 'RoleBinding' };
