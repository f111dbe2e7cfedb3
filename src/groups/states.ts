import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { groupResource, type LocalGroups, maxLeaving } from '../accounts/local-groups.ts';
import type { AccountLookup } from '../accounts/lookup.ts';
import { UserRecords } from '../accounts/user-records.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { Lease } from '../kubernetes/lease.ts';
import { isKubernetesObject, isRecord, type KubernetesObject, resourcePath } from '../kubernetes/resource.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { groupObjectOf, isRefusal, type Member, membersOf } from './group-records.ts';
import { groupStatus } from './group-status.ts';
import type { GroupRow } from './row.ts';

const lookEveryMs = 250;
const retryMs = 10_000;
/** Members whose record the API server is asked for at one look; the others wait for the next. */
const maxAsked = 100;

export interface GroupStatesOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  cache: WatchCache<GroupRow>;
  localGroups: LocalGroups;
  accounts: AccountLookup;
  log: Logger;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/**
 * Keeps what the Groups say of themselves, and takes out members whose user is gone, so that nobody who gets the name again is in their
 * groups. One replica does it at a time. Deleting a user by the API does the latter at once; this is for what was deleted with kubectl.
 */
export class GroupStates {
  readonly #options: GroupStatesOptions;
  readonly #records: UserRecords;
  readonly #lease: Lease;
  readonly #now: () => Date;
  /** When to look at a group again, in milliseconds since 1970; 0 for at once. */
  readonly #due = new Map<string, number>();
  /** Users that were seen to be deleted while in a group. */
  readonly #gone = new Set<string>();

  constructor(options: GroupStatesOptions) {
    this.#options = options;
    this.#records = new UserRecords(options.client);
    this.#lease = new Lease({ ...options, name: 'atrium-group-states' });
    this.#now = options.now ?? (() => new Date());
  }

  start(): void {
    this.#lease.start((signal) => this.#work(signal));
  }

  stop(): Promise<void> {
    return this.#lease.stop();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { cache, accounts, localGroups, log } = this.#options;
    log.info('this replica keeps the states of groups');
    const forgetters = [
      cache.onChange(({ key }) => this.#due.set(key, 0)),
      accounts.onChange((user) => {
        const groups = localGroups.namesOf(user);
        if (groups.length > 0 && accounts.get(user) === undefined) this.#gone.add(user);
        for (const group of groups) this.#due.set(group, 0);
      }),
    ];
    for (const { name } of cache.values()) this.#due.set(name, 0);
    try {
      while (!signal.aborted) {
        if (accounts.isSynced && cache.isSynced) await this.#lookAtDue(signal);
        await sleep(lookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    } finally {
      for (const forget of forgetters) forget();
      this.#due.clear();
      this.#gone.clear();
    }
  }

  async #lookAtDue(signal: AbortSignal): Promise<void> {
    const now = this.#now().getTime();
    for (const [name, time] of [...this.#due]) {
      if (signal.aborted) return;
      if (time > now) continue;
      // What changes meanwhile is due again.
      this.#due.delete(name);
      try {
        if (!(await this.#lookAt(name, signal))) this.#due.set(name, 0);
      } catch (error) {
        if (signal.aborted) return;
        this.#options.log.debug({ group: name, err: error }, 'the state of a group could not be written');
        this.#due.set(name, this.#now().getTime() + retryMs);
      }
    }
    for (const user of this.#gone) if (this.#options.localGroups.namesOf(user).length === 0) this.#gone.delete(user);
  }

  /** @returns false if it has to be looked at again at once */
  async #lookAt(name: string, signal: AbortSignal): Promise<boolean> {
    const { cache, accounts, log } = this.#options;
    const row = cache.get(name);
    const object: unknown = row && JSON.parse(row.text);
    if (row === undefined || !isKubernetesObject(object)) return true;
    const members = row.isLocal ? membersOf(object) : [];
    const leaving = await this.#leaving(members, signal);
    if (leaving.size > 0) {
      const users = members.filter((member) => !leaving.has(member.name));
      const isWritten = (await this.#patch(object, { spec: { users } }, signal)) !== undefined;
      if (isWritten) log.info({ group: name, users: [...leaving] }, 'members whose user is gone were taken out of a group');
      return false;
    }
    const shown = members.map((member) => ({ name: member.name, email: accounts.get(member.name)?.email ?? '' }));
    const wanted = groupStatus(object, row.isLocal ? shown : undefined, this.#now());
    const old = isRecord(object.status) ? object.status : {};
    const status = Object.fromEntries(
      Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key] ?? undefined)),
    );
    if (Object.keys(status).length === 0) return true;
    return (await this.#patch(object, { status }, signal)) !== undefined;
  }

  /** Who was seen to be deleted, and who was a user when they became a member and is none any more. */
  async #leaving(members: readonly Member[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { accounts } = this.#options;
    const leaving = new Set(members.flatMap(({ name }) => (this.#gone.has(name) ? [name] : [])));
    const missing = members.filter(
      ({ name, importTime }) => importTime !== undefined && !leaving.has(name) && accounts.get(name) === undefined,
    );
    // A user who was made a moment ago may not have been seen yet.
    for (const { name } of missing.slice(0, maxAsked)) {
      if (leaving.size >= maxLeaving) break;
      if ((await this.#records.read(name, signal)) === undefined) leaving.add(name);
    }
    return new Set([...leaving].slice(0, maxLeaving));
  }

  /** @returns undefined if it is not that version any more, or gone */
  async #patch({ metadata: { name, resourceVersion } }: KubernetesObject, patch: { spec?: object; status?: object }, signal: AbortSignal) {
    const subresource = patch.status && 'status';
    try {
      const written = await this.#options.client.request({
        method: 'PATCH',
        path: resourcePath(groupResource, { name, ...(subresource && { subresource }) }),
        contentType: 'application/merge-patch+json',
        body: { metadata: { resourceVersion }, ...patch },
        call: `patch groups${subresource ? '/status' : ''}`,
        signal,
      });
      return groupObjectOf(written);
    } catch (error) {
      if (isRefusal(error, 404, 409)) return undefined;
      throw error;
    }
  }
}
