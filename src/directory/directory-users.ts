import { isDeepStrictEqual } from 'node:util';
import { partsOf } from '../api/reader.ts';
import { serviceUnavailable } from '../api/status.ts';
import { timestamp } from '../kubernetes/clock.ts';
import { seenWithinMs } from '../kubernetes/deadline.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { compareResourceVersions } from '../kubernetes/resource-version.ts';
import type { Services } from '../services.ts';
import { accountOf, accountOfRead, recordName } from '../users/record/account.ts';
import { conditionsOf, phaseOf } from '../users/record/conditions.ts';
import type { StoredUsers } from '../users/record/controller.ts';
import { createdByAnnotation, labelsToChange, userLabels } from '../users/record/labels.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { retryOnConflict, UserRecords } from '../users/record/records.ts';
import { readUser, recordedGroups, sourceIDs, userApiVersion } from '../users/record/schema.ts';
import { UserStatusWriter } from '../users/status.ts';
import type { Connector } from './connection.ts';
import type { Person } from './person.ts';

/** User records in the cache of this replica. */
export type SeenRecords = Pick<StoredUsers, 'names' | 'get'>;

/** A user and the user's groups in the directory. */
export interface Membership {
  person: Person;
  groups: readonly string[];
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
  preview(membership: Membership, connector: Connector): UserChange | Refusal {
    return changeOf(this.#seen.get(this.#nameOf(membership)), membership, connector);
  }

  /** Creates or updates the record. @throws StatusError 503, 504 */
  async apply(membership: Membership, connector: Connector, signal: AbortSignal): Promise<Outcome | Refusal> {
    const name = this.#nameOf(membership);
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

  /** Returns the names of the connector's valid users that are not listed, and the number of all its valid users. */
  vanished(connector: Connector, emails: ReadonlySet<string>): { names: string[]; counting: number } {
    const names: string[] = [];
    let counting = 0;
    for (const name of this.#seen.names()) {
      const account = this.#accounts.get(name);
      if (account === undefined || !isOf(connector, account) || !account.isValid) continue;
      counting += 1;
      if (!emails.has(account.email.toLowerCase())) names.push(name);
    }
    return { names, counting };
  }

  emailOf(name: string): string {
    return this.#accounts.get(name)?.email ?? '';
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
  async whenSeen(signal: AbortSignal): Promise<void> {
    if (this.#newest !== '') await this.#accounts.watch.waitFor(this.#newest, seenWithinMs, signal);
  }

  #nameOf({ person: { email } }: Membership): string {
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
  throw serviceUnavailable('kubernetes', { cause: new Error('a User is written all the time') });
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
  reason: 'NameTaken' | 'Administrator';
}

const type = 'ldap';

/** Reports whether a record belongs to the connector. */
const isOf = ({ id }: Pick<Connector, 'id'>, user: { connectorType: string; connectorID: string }): boolean =>
  user.connectorType === type && user.connectorID === id;

/**
 * Returns the change that brings the record in line with the directory. An invalid user of the connector becomes valid again; disablement
 * and rights are kept. The record of another source is linked only, and an administrator's record is never changed.
 */
function changeOf(
  object: KubernetesObject | undefined,
  { person, groups }: { person: Person; groups: readonly string[] },
  connector: Connector,
): UserChange | Refusal {
  const told = {
    connector_type: type,
    connector_id: connector.id,
    connector_name: connector.name,
    username: person.username,
    account: person.account || null,
    mobile: person.mobile || null,
  };
  const named = namedGroups(groups);
  const identity = { type, id: person.id };
  if (object === undefined)
    return {
      outcome: 'created',
      spec: { email: person.email, is_admin: false, ...withoutNulls(told), ids: sourceIDs([], identity) },
      groups: named,
    };
  const account = accountOf(object);
  if (account.email.toLowerCase() !== person.email.toLowerCase()) return { outcome: 'failed', reason: 'NameTaken' };
  if (account.isAdmin) return { outcome: 'failed', reason: 'Administrator' };
  const { spec: old = {} } = partsOf(object);
  const ids = sourceIDs(readUser(object).spec?.ids, identity);
  // A user who was registered in advance has no source, and is claimed by this connector.
  const isUnclaimed = account.connectorType === '';
  if (!isOf(connector, account) && !isUnclaimed) {
    const isLinked = isDeepStrictEqual(ids, old.ids) || ids === undefined;
    return isLinked ? { outcome: 'unchanged' } : { outcome: 'linked', spec: { ids } };
  }
  const wanted = { ...told, ...(ids && { ids }), ...(!account.isValid && !isUnclaimed && { valid: true }) };
  const spec = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key])));
  const isSame = Object.keys(spec).length === 0;
  const areGroupsSame = isDeepStrictEqual(named, [...account.groups]);
  const outcome = isUnclaimed ? 'linked' : account.isValid ? 'updated' : 'restored';
  if (isSame && areGroupsSame) return { outcome: 'unchanged' };
  return { outcome, ...(!isSame && { spec }), ...(!areGroupsSame && { groups: named }) };
}

/** Sorts the names, because a directory has no stable order. Drops names with control characters, which headers cannot carry. */
export const namedGroups = (groups: readonly string[]): string[] => recordedGroups(groups.filter((name) => !/\p{Cc}/u.test(name)).sort());

const withoutNulls = (members: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
