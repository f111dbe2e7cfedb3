import { isDeepStrictEqual } from 'node:util';
import { partsOf } from '../api/reader.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { accountOf } from '../users/record/account.ts';
import { readUser, recordedGroups, sourceIDs } from '../users/record/schema.ts';
import type { Connector } from './connection.ts';
import type { Person } from './person.ts';

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
export const isOf = ({ id }: Pick<Connector, 'id'>, user: { connectorType: string; connectorID: string }): boolean =>
  user.connectorType === type && user.connectorID === id;

/**
 * Returns the change that brings the record in line with the directory. An invalid user of the connector becomes valid again; disablement
 * and rights are kept. The record of another source is linked only, and an administrator's record is never changed.
 */
export function changeOf(
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
