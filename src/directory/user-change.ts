import { isDeepStrictEqual } from 'node:util';
import { partsOf } from '../api/reader.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { accountOf } from '../users/record/account.ts';
import { linkedIDs, recordedGroups } from '../users/record/bounds.ts';
import { readUser } from '../users/record/schema.ts';
import type { Connector } from './connection.ts';
import type { Person } from './person.ts';

/** What becomes of the record of a user whom a directory lists. */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'linked' | 'restored';

/** What has to be written, whole or merged into the record; without either nothing has. */
export interface UserChange {
  outcome: Outcome;
  spec?: Record<string, unknown>;
  groups?: string[];
}

/** Why an entry makes or changes no user. */
export interface Refusal {
  outcome: 'failed';
  reason: 'NameTaken' | 'Administrator';
}

const type = 'ldap';

/** Whether a record is one of the connector's users. */
export const isOf = ({ id }: Pick<Connector, 'id'>, user: { connectorType: string; connectorID: string }): boolean =>
  user.connectorType === type && user.connectorID === id;

/**
 * What makes the record agree with what the directory says of the person. Validity, being disabled and rights stay; the record of
 * another source is linked only, and an administrator's never.
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
      spec: { email: person.email, is_admin: false, ...withoutNulls(told), ids: linkedIDs([], identity) },
      groups: named,
    };
  const account = accountOf(object);
  if (account.email.toLowerCase() !== person.email.toLowerCase()) return { outcome: 'failed', reason: 'NameTaken' };
  if (account.isAdmin) return { outcome: 'failed', reason: 'Administrator' };
  const { spec: old = {} } = partsOf(object);
  const ids = linkedIDs(readUser(object).spec?.ids, identity);
  // A user who was registered ahead has no source yet: from now on it is this one.
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

/** In an order that does not depend on the directory's; names with control characters could not travel in headers. */
export const namedGroups = (groups: readonly string[]): string[] => recordedGroups(groups.filter((name) => !/\p{Cc}/u.test(name)).sort());

const withoutNulls = (members: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
