import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import { writeStatus } from '@atrium/kubernetes/controllers/status-writer.ts';
import { type Observed, setConditions } from '@atrium/kubernetes/object-status.ts';
import { isKubernetesObject, type KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { Change } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type LocalGroups, maxLeaving } from '../users/record/local-groups.ts';
import type { AccountChange } from '../users/record/lookup.ts';
import { UserRecords } from '../users/record/records.ts';
import type { GroupRow } from './row.ts';
import { groupKind, type Member, membersOf } from './schema.ts';
import type { GroupsContext } from './strategy.ts';

/** Names in a message at most. */
const maxNamed = 20;

/** Bound of the custom resource definition. */
const maxShown = 500;

/** A member for display. */
interface ShownMember {
  name: string;
  /** '' without a User record. */
  email: string;
}

/**
 * Returns the observed state of a group for its status. Null deletes a field.
 *
 * @param members members of a local group; undefined if the issuer manages them
 */
function groupStatus({ metadata, status }: KubernetesObject, members: readonly ShownMember[] | undefined, now: Date) {
  const { generation } = metadata;
  const known = { ...membersKnown(members), ...(generation !== undefined && { observedGeneration: generation }) };
  return {
    memberCount: members?.length ?? null,
    members: members?.slice(0, maxShown) ?? null,
    observedGeneration: generation ?? null,
    conditions: setConditions(status, [known], now),
  };
}

function membersKnown(members: readonly ShownMember[] | undefined): Observed {
  const type = 'MembersKnown';
  if (members === undefined)
    return { type, status: 'Unknown', reason: 'KnownByIssuer', message: 'the issuer tells the groups of users at their login' };
  const unknown = members.flatMap(({ name, email }) => (email === '' ? [name] : []));
  if (unknown.length === 0) return { type, status: 'True', reason: 'AsExpected', message: '' };
  const named = unknown.slice(0, maxNamed).join(', ');
  const more = unknown.length > maxNamed ? `, and ${unknown.length - maxNamed} more` : '';
  return { type, status: 'False', reason: 'MembersWithoutRecord', message: `no User record has these names: ${named}${more}` };
}

const workers = 4;
/** Delay that batches changes: users are often added and removed together. */
const delayMs = 100;
/** Members whose record is read from the API server in one reconciliation; the next one continues. */
const maxAsked = 100;

/**
 * Writes the status of Groups, and removes members whose user was deleted, so that a later user of the name is not in their groups. Only
 * the leader does so. The API removes a deleted user's memberships at once; the controller covers deletions with kubectl.
 */
export const groupsController = (context: GroupsContext, localGroups: LocalGroups): Controller =>
  new Controller(context.services, {
    name: 'atrium-group-states',
    workers,
    delayMs,
    begin: () => new GroupReconciler(context, localGroups),
  });

class GroupReconciler implements Term, Source {
  readonly sources = [this];
  readonly #context: GroupsContext;
  readonly #localGroups: LocalGroups;
  readonly #records: UserRecords;
  readonly #resource: ServiceResource;
  /** Users who were deleted while in a group. */
  readonly #gone = new Set<string>();
  #enqueue: (name: string) => void = () => undefined;

  constructor(context: GroupsContext, localGroups: LocalGroups) {
    const { client } = context.services;
    this.#context = context;
    this.#localGroups = localGroups;
    this.#records = new UserRecords(client);
    this.#resource = new ServiceResource(client, groupKind);
  }

  onChange(enqueue: (name: string) => void): () => void {
    const { groups, accounts } = this.#context;
    this.#enqueue = enqueue;
    const forget = [
      groups.cache.onChange((change) => this.#onGroup(change)),
      accounts.onChange((user, change) => this.#onUser(user, change)),
    ];
    return () => {
      for (const end of forget) end();
    };
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    const { groups, accounts } = this.#context;
    await Promise.all([groups.cache.whenSynced(signal), accounts.watch.whenSynced(signal)]);
  }

  *keys(): Iterable<string> {
    for (const { name } of this.#context.groups.cache.values()) yield name;
  }

  /** Reconciles a group. The watch returns its own writes, which are reconciled again. */
  async reconcile(name: string, signal: AbortSignal): Promise<'done' | 'again'> {
    const { groups, accounts, services } = this.#context;
    const row = groups.cache.get(name);
    const object: unknown = row && JSON.parse(row.text);
    if (row === undefined || !isKubernetesObject(object)) return 'done';
    const members = row.isLocal ? membersOf(object) : [];
    const leaving = await this.#leaving(members, signal);
    if (leaving.size > 0) {
      const users = members.filter((member) => !leaving.has(member.name));
      if (!(await this.#setMembers(object, users, signal))) return 'again';
      services.log.info({ group: name, users: [...leaving] }, 'deleted users removed from a group');
      return 'done';
    }
    const shown = members.map((member) => ({ name: member.name, email: accounts.get(member.name)?.email ?? '' }));
    const wanted = groupStatus(object, row.isLocal ? shown : undefined, services.now());
    const troubles = wanted.conditions.filter(({ status }) => status === 'False');
    return (await writeStatus(services, { kind: groupKind, object, wanted, troubles }, signal)) === 'again' ? 'again' : 'done';
  }

  onFailure(name: string, error: unknown): void {
    this.#context.services.log.debug({ group: name, err: error }, 'status of a group could not be written');
  }

  #onGroup({ key, old }: Change<GroupRow>): void {
    this.#enqueue(key);
    for (const user of old?.members ?? [])
      if (this.#gone.has(user) && this.#localGroups.namesOf(user).length === 0) this.#gone.delete(user);
  }

  /** Enqueues the groups of a user whose uid or e-mail address changed. Logins change neither. */
  #onUser(user: string, { old, new: current }: AccountChange): void {
    if (old?.uid === current?.uid && old?.email === current?.email) return;
    const groups = this.#localGroups.namesOf(user);
    if (groups.length > 0 && old !== undefined && old.uid !== current?.uid) this.#gone.add(user);
    for (const group of groups) this.#enqueue(group);
  }

  /** Returns members to remove: users whose deletion was seen, and users who had a record when they were added but have none now. */
  async #leaving(members: readonly Member[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { accounts } = this.#context;
    const leaving = new Set(members.flatMap(({ name }) => (this.#gone.has(name) ? [name] : [])));
    const missing = members.filter(
      ({ name, importTime }) => importTime !== undefined && !leaving.has(name) && accounts.get(name) === undefined,
    );
    // The watch may not have seen a new user yet.
    for (const { name } of missing.slice(0, maxAsked)) {
      if (leaving.size >= maxLeaving) break;
      if ((await this.#records.read(name, signal)) === undefined) leaving.add(name);
    }
    return new Set([...leaving].slice(0, maxLeaving));
  }

  /** @returns false if the group was changed or deleted meanwhile */
  async #setMembers({ metadata: { name, resourceVersion } }: KubernetesObject, users: readonly Member[], signal: AbortSignal) {
    const written = await this.#resource.patch(name, { metadata: { resourceVersion }, spec: { users } }, { signal });
    return written !== 'conflict' && written !== 'gone';
  }
}
