import type { Caller } from '@atrium/http/caller.ts';
import type { Config } from '../../config/schema.ts';
import type { Account } from './account.ts';

/** Settings that decide on the user name of local users in Kubernetes. */
export interface SubjectNaming {
  readonly claims: Config['login']['claims'];
  /** Address of the embedded issuer, if users log in there. */
  readonly embeddedIssuer: string | undefined;
}

/** Returns the `sub` at the embedded issuer: the uid, which is never reassigned (OpenID Connect Core 2), and the name of the record. */
export const subjectOf = ({ uid, name }: Pick<Account, 'uid' | 'name'>): string => `${uid}.${name}`;

/** Returns the record of such a `sub`. */
export const recordOf = (sub: string): Pick<Account, 'uid' | 'name'> => ({
  uid: sub.slice(0, sub.indexOf('.')),
  name: sub.slice(sub.indexOf('.') + 1),
});

/**
 * Returns the user name that Kubernetes will see of a local user after a login at the embedded issuer.
 *
 * @returns undefined if only a login reveals it
 */
export function localSubjectName(user: Pick<Account, 'email' | 'uid' | 'name'>, naming: SubjectNaming): string | undefined {
  const { username, usernamePrefix } = naming.claims;
  if (username === 'email') return (usernamePrefix === '-' ? '' : (usernamePrefix ?? '')) + user.email;
  if (!isNamedByUID(naming)) return undefined;
  return (usernamePrefix === '-' ? '' : usernamePrefix || `${naming.embeddedIssuer}#`) + subjectOf(user);
}

/** Reports whether local users are named by the uid of their record. No role can be bound to such a name before the record exists. */
export const isNamedByUID = ({ claims, embeddedIssuer }: SubjectNaming): boolean =>
  claims.username === 'sub' && embeddedIssuer !== undefined;

type Named = Pick<Account, 'subjectName' | 'linked'>;

/** Returns all user names that Kubernetes sees: the one that names the user first, then those of linked accounts. */
export const subjectNamesOf = ({ subjectName, linked = [] }: Named): readonly string[] =>
  [...new Set([subjectName, ...linked.map((one) => one.subjectName)])].filter((name) => name !== '');

/** Reports whether the caller has logged in with the account that names the user. A linked account does not act for the user everywhere. */
export const isNamedByLogin = ({ subjectName }: Pick<Named, 'subjectName'>, { identity }: Pick<CallerNames, 'identity'>): boolean =>
  subjectName === identity.name;

/** Members of `Caller` that identify the user. */
export type CallerNames = Pick<Caller, 'user'> & { readonly identity: Pick<Caller['identity'], 'name'> };

/**
 * Reports whether a record is the caller's own, with any of the caller's accounts. A credential that is known to belong to another record
 * never matches, whatever its name. An empty name matches no caller.
 */
export const isSelf = (account: (Named & Pick<Account, 'name'>) | undefined, { user, identity }: CallerNames): boolean =>
  account !== undefined && (user ?? account.name) === account.name && subjectNamesOf(account).includes(identity.name);
