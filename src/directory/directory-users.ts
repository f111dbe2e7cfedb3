import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import { type Account, accountOf, accountOfRead, directoryIDsOf, directoryType, hasAddress, recordName } from '../users/record/account.ts';
import { conditionsOf, phaseOf } from '../users/record/conditions.ts';
import type { StoredUsers } from '../users/record/controller.ts';
import { createdByAnnotation, labelsToChange, userLabels } from '../users/record/labels.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { UserRecords } from '../users/record/records.ts';
import { readUser, recordedGroups, sourceIDs, type UserSpec, userApiVersion } from '../users/record/schema.ts';
import { UserStatusWriter } from '../users/status.ts';
import type { Connector } from './connection.ts';
import type { KnownUser, Person } from './person.ts';

/** User records in the cache of this replica. */
export type SeenRecords = Pick<StoredUsers, 'names' | 'get'>;

/** A user and the user's groups in the directory. */
export interface Membership {
  person: Person;
  groups: readonly string[];
  /** False if there may be further groups. Then the user loses none. */
  areGroupsWhole: boolean;
}

/** Membership with the record that it belongs to. */
export interface AssignedMembership extends Membership {
  /** Name of the record. */
  record: string;
}

/** Entries with their records, and entries that get none. */
export interface Assignment {
  assigned: AssignedMembership[];
  refused: { membership: Membership; reason: Refusal['reason'] }[];
}

/**
 * Writes the User records of directories with the service account. `lastSyncTime` is written together with other changes only: a run over
 * thousands of unchanged users would otherwise write every record, and wake every watch.
 */
export class DirectoryUsers {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #seen: SeenRecords;
  readonly #written: UserRecords;
  readonly #status: UserStatusWriter;
  #newest = '';

  constructor(services: Services, accounts: AccountLookup, seen: SeenRecords) {
    this.#services = services;
    this.#accounts = accounts;
    this.#seen = seen;
    this.#written = new UserRecords(services.client);
    this.#status = new UserStatusWriter(services);
  }

  /** Returns the change that `apply` would make to the cached record. */
  preview(membership: AssignedMembership, connector: Connector): UserChange | Refusal {
    return changeOf(this.#seen.get(membership.record), membership, connector);
  }

  /** Returns the account of the connector that has the id of the entry. Records of earlier versions may share ids: the address decides. */
  holderOf({ id, email }: Person, { id: connectorID }: Connector): Account | undefined {
    const held = this.#accounts.ofEntry({ connectorID, id });
    return held.find((account) => hasAddress(account, email)) ?? held[0];
  }

  /**
   * Assigns a record to each entry, by its id. The address proposes a record only to an entry without one, and to one entry at most: the
   * owner of an address that several new entries have is unknown.
   */
  assign(memberships: readonly Membership[], connector: Connector): Assignment {
    const held = new Map<string, Membership[]>();
    const proposed = new Map<string, Membership[]>();
    const refused: Assignment['refused'] = [];
    for (const membership of memberships) {
      const holder = this.holderOf(membership.person, connector);
      const [map, name] = holder === undefined ? [proposed, this.nameOf(membership)] : [held, holder.name];
      map.set(name, [...(map.get(name) ?? []), membership]);
    }
    const assigned: AssignedMembership[] = [];
    const refuse = (memberships: readonly Membership[], reason: Refusal['reason']) => {
      for (const membership of memberships) refused.push({ membership, reason });
    };
    for (const [record, entries] of held) {
      // A record of an earlier version may have the ids of two entries. The entry with its address is the user.
      const user =
        entries.find(({ person }) => this.#accounts.get(record)?.email.toLowerCase() === person.email.toLowerCase()) ?? entries[0];
      if (user !== undefined) assigned.push({ ...user, record });
      refuse(
        entries.filter((entry) => entry !== user),
        'EntryDiffers',
      );
    }
    for (const [record, entries] of proposed) {
      const [user, ...others] = entries;
      if (held.has(record)) refuse(entries, 'EntryDiffers');
      else if (others.length > 0) refuse(entries, 'Duplicate');
      else if (user !== undefined) assigned.push({ ...user, record });
    }
    return { assigned, refused };
  }

  /** Returns notes for administrators about records that differ from their entry. */
  notesOn({ record, person }: AssignedMembership): ('AddressChanged' | 'SeveralEntries')[] {
    const account = this.#accounts.get(record);
    if (account?.directoryIDs === undefined) return [];
    return [
      ...(hasAddress(account, person.email) ? [] : (['AddressChanged'] as const)),
      ...(account.directoryIDs.length > 1 ? (['SeveralEntries'] as const) : []),
    ];
  }

  /** Creates or updates the record. @throws StatusError 503, 504 */
  async apply(membership: AssignedMembership, connector: Connector, signal: AbortSignal): Promise<Outcome | Refusal> {
    const name = membership.record;
    let seen = this.#seen.get(name);
    let isFresh = false;
    /** Outcome of the first write. Retries after a conflict only complete it. */
    let begun: Outcome | undefined;
    const applied = await retryOnConflict(async () => {
      if (isFresh) seen = await this.#written.readInstalled(name, signal);
      isFresh = true;
      const change = changeOf(seen, membership, connector);
      if (change.outcome === 'failed') return change;
      if (change.spec === undefined && change.groups === undefined) return begun ?? change.outcome;
      const object = change.spec === undefined ? seen : await this.#writeSpec(name, seen, change.spec, signal);
      if (object === undefined) return undefined;
      begun ??= change.outcome;
      return (await this.#writeStatus(object, change.groups, signal)) ? begun : undefined;
    }, signal);
    return applied ?? contested();
  }

  /** Returns the connector's valid users that `has` does not find, and the number of all its valid users. */
  vanished(connector: Connector, has: (user: KnownUser) => boolean): { users: VanishedUser[]; counting: number } {
    const users: VanishedUser[] = [];
    let counting = 0;
    for (const name of this.#seen.names()) {
      const account = this.#accounts.get(name);
      if (account === undefined || !isOf(connector, account) || !account.isValid) continue;
      counting += 1;
      const user = { name, email: account.email, ids: account.directoryIDs ?? [] };
      if (!has(user)) users.push(user);
    }
    return { users, counting };
  }

  /** Invalidates the record if it still belongs to the connector. @returns false if no write was needed; @throws StatusError 503, 504 */
  async invalidate(name: string, connector: Connector, signal: AbortSignal): Promise<boolean> {
    const done = await retryOnConflict(async () => {
      const object = await this.#written.readInstalled(name, signal);
      if (object === undefined) return false;
      const account = accountOf(object);
      if (!isOf(connector, account) || !account.isValid) return false;
      const written = await this.#writeSpec(name, object, { valid: false }, signal);
      // A lost write of the status is harmless: the controller of user states writes the status too.
      if (written !== undefined) await this.#writeStatus(written, undefined, signal);
      return written && true;
    }, signal);
    return done ?? contested();
  }

  /** Waits until the watch of this replica has delivered the last write, for a bounded time. */
  async waitForWrite(signal: AbortSignal): Promise<void> {
    if (this.#newest !== '') await this.#accounts.watch.waitForWrite(this.#newest, signal);
  }

  /** Returns the name of the record that the address proposes. */
  nameOf({ person: { email } }: Membership): string {
    return this.#accounts.find(email)?.name ?? recordName(email) ?? '';
  }

  async #writeSpec(name: string, old: KubernetesObject | undefined, spec: Record<string, unknown>, signal: AbortSignal) {
    if (old === undefined) {
      const metadata = { name, labels: userLabels(spec), annotations: { [createdByAnnotation]: 'sync' } };
      return this.#note(await this.#written.create({ apiVersion: userApiVersion, kind: 'User', metadata, spec }, signal));
    }
    const labels = labelsToChange(old.metadata.labels, readUser({ spec: { ...partsOf(old).spec, ...spec } }).spec);
    return this.#note(await this.#written.patch(old, { spec, ...(labels && { labels }) }, signal));
  }

  async #writeStatus(object: KubernetesObject, groups: string[] | undefined, signal: AbortSignal) {
    const { now, config } = this.#services;
    const { idleDays } = config.users;
    const told = { lastSyncTime: timestamp(now()), ...(groups && { groups }) };
    const changed = { ...object, status: { ...partsOf(object).status, ...told } };
    const user = readUser(changed);
    const account = accountOfRead(changed, user);
    const phase = phaseOf(account, now(), idleDays);
    // All conditions are written, so that the controller of user states has no further write to make.
    const conditions = conditionsOf({ object: changed, user, account, phase }, now());
    return this.#note(await this.#status.patchVersion(object, { ...told, conditions }, signal));
  }

  #note(written: KubernetesObject | undefined): KubernetesObject | undefined {
    const version = written?.metadata.resourceVersion ?? '';
    if (version !== '' && (this.#newest === '' || (compareResourceVersions(version, this.#newest) ?? 0) > 0)) this.#newest = version;
    return written;
  }
}

function contested(): never {
  throw serviceUnavailable('kubernetes', { cause: new Error('concurrent writes of a User prevented the change') });
}

/** Effect on the record of a user in the directory. */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'linked' | 'restored';

/** Change to write: `spec` is merged into an existing record. The record is up to date if `spec` and `groups` are both missing. */
export interface UserChange {
  outcome: Outcome;
  spec?: Record<string, unknown>;
  groups?: string[];
}

/** Reason for which an entry neither creates nor changes a user. */
export interface Refusal {
  outcome: 'failed';
  reason: 'NameTaken' | 'Administrator' | 'EntryDiffers' | 'Duplicate';
}

/** User of a directory without an entry in a listing. */
interface VanishedUser extends KnownUser {
  name: string;
}

/** Reports whether a record belongs to the connector. */
const isOf = ({ id }: Pick<Connector, 'id'>, user: { connectorType: string; connectorID: string }): boolean =>
  user.connectorType === directoryType && user.connectorID === id;

/**
 * Returns the change that brings the record in line with the directory. An invalid user of the connector becomes valid again; disablement
 * and rights are kept. The record of another source is linked only, and an administrator's record is never changed. The record of another
 * entry is never changed either: an address that is given to another entry brings no rights of its former owner.
 */
function changeOf(object: KubernetesObject | undefined, membership: AssignedMembership, connector: Connector): UserChange | Refusal {
  const { person, groups, record } = membership;
  const identity = { type: directoryType, id: person.id };
  if (object === undefined) {
    // The record of an entry with a changed address was deleted meanwhile. The next synchronisation creates it.
    if (recordName(person.email) !== record) return { outcome: 'failed', reason: 'NameTaken' };
    const spec = { email: person.email, is_admin: false, ...withoutNulls(toldBy(person, connector)), ids: sourceIDs([], identity) };
    return { outcome: 'created', spec, groups: namedGroups(groups) };
  }
  const reason = refusalOf(object, person, connector);
  if (reason !== undefined) return { outcome: 'failed', reason };
  const account = accountOf(object);
  const { spec: read = {} } = readUser(object);
  const ids = sourceIDs(read.ids, identity);
  // A user who was registered in advance has no source, and is claimed by this connector.
  if (isOf(connector, account) || account.connectorType === '') return updateOf({ object, account, ids }, membership, connector);
  // A link gives the entry no right, and is not changed: the record belongs to its own source.
  return directoryIDsOf(read).length > 0 || ids === undefined ? { outcome: 'unchanged' } : { outcome: 'linked', spec: { ids } };
}

/** Returns why the entry must not change the record. */
function refusalOf(object: KubernetesObject, { id, email }: Person, connector: Connector): Refusal['reason'] | undefined {
  const account = accountOf(object);
  const ids = directoryIDsOf(readUser(object).spec ?? {});
  const isOwn = isOf(connector, account);
  if (!hasAddress(account, email) && !(isOwn && ids.includes(id))) return 'NameTaken';
  if (account.isAdmin) return 'Administrator';
  // A record of an earlier version may have no id, and gets that of the entry with its address.
  const mayAdopt = isOwn && ids.length === 0;
  return account.connectorType === directoryType && !ids.includes(id) && !mayAdopt ? 'EntryDiffers' : undefined;
}

/** Returns the members of the spec that a directory tells. */
const toldBy = (person: Person, { id, name }: Connector) => ({
  connector_type: directoryType,
  connector_id: id,
  connector_name: name,
  username: person.username,
  account: person.account || null,
  mobile: person.mobile || null,
});

interface OwnRecord {
  object: KubernetesObject;
  account: Account;
  ids: UserSpec['ids'];
}

function updateOf({ object, account, ids }: OwnRecord, { person, groups, areGroupsWhole }: Membership, connector: Connector): UserChange {
  const { spec: old = {} } = partsOf(object);
  const isUnclaimed = account.connectorType === '';
  const wanted = { ...toldBy(person, connector), ...(ids && { ids }), ...(!account.isValid && !isUnclaimed && { valid: true }) };
  const spec = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key])));
  const isSame = Object.keys(spec).length === 0;
  const named = namedGroups(areGroupsWhole ? groups : [...groups, ...account.groups]);
  const areGroupsSame = isDeepStrictEqual(named, [...account.groups]);
  const outcome = isUnclaimed ? 'linked' : account.isValid ? 'updated' : 'restored';
  if (isSame && areGroupsSame) return { outcome: 'unchanged' };
  return { outcome, ...(!isSame && { spec }), ...(!areGroupsSame && { groups: named }) };
}

/** Sorts the names, because a directory has no stable order. Drops names with control characters, which headers cannot carry. */
export const namedGroups = (groups: readonly string[]): string[] => recordedGroups(groups.filter((name) => !/\p{Cc}/u.test(name)).sort());

const withoutNulls = (members: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
