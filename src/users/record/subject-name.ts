import type { Config } from '../../config/schema.ts';
import type { Caller } from '../../http/operation.ts';
import type { Account } from './account.ts';

/** What decides how Kubernetes calls a local user. */
export interface SubjectNaming {
  readonly claims: Config['login']['claims'];
  /** Address of the embedded issuer, if people log in there. */
  readonly embeddedIssuer: string | undefined;
}

/** `sub` at the embedded issuer: the uid, which is never given to another record (OpenID Connect Core 2), and the record's name. */
export const subjectOf = ({ uid, name }: Pick<Account, 'uid' | 'name'>): string => `${uid}.${name}`;

/** Whose such a `sub` is. */
export const recordOf = (sub: string): Pick<Account, 'uid' | 'name'> => ({
  uid: sub.slice(0, sub.indexOf('.')),
  name: sub.slice(sub.indexOf('.') + 1),
});

/**
 * The user name that Kubernetes will see of a local user, as a login at the embedded issuer tells it.
 *
 * @returns undefined where only a login knows it
 */
export function localSubjectName(user: Pick<Account, 'email' | 'uid' | 'name'>, naming: SubjectNaming): string | undefined {
  const { username, usernamePrefix } = naming.claims;
  if (username === 'email') return (usernamePrefix === '-' ? '' : (usernamePrefix ?? '')) + user.email;
  if (!isNamedByUID(naming)) return undefined;
  return (usernamePrefix === '-' ? '' : usernamePrefix || `${naming.embeddedIssuer}#`) + subjectOf(user);
}

/** Whether local users are named by the uid of their record: nothing can be bound to such a name before the record is there. */
export const isNamedByUID = ({ claims, embeddedIssuer }: SubjectNaming): boolean =>
  claims.username === 'sub' && embeddedIssuer !== undefined;

type Named = Pick<Account, 'subjectName' | 'linked'>;

/** Every user name that Kubernetes sees of the user: the one that names them first, and those of linked accounts. */
export const subjectNamesOf = ({ subjectName, linked = [] }: Named): readonly string[] =>
  [...new Set([subjectName, ...linked.map((one) => one.subjectName)])].filter((name) => name !== '');

/** Whether the caller has logged in with the account that names the user: a linked one does not act for the user everywhere. */
export const isNamedByLogin = ({ subjectName }: Pick<Named, 'subjectName'>, { identity }: Pick<WhoCalls, 'identity'>): boolean =>
  subjectName === identity.name;

/** As `Caller` has it. */
export type WhoCalls = Pick<Caller, 'user'> & { readonly identity: Pick<Caller['identity'], 'name'> };

/**
 * Whether a record is the caller's own, by whichever of their accounts. A credential that is known to be of another record is not, whatever
 * its name is. A name that is not there yet is no one's.
 */
export const isSelf = (account: (Named & Pick<Account, 'name'>) | undefined, { user, identity }: WhoCalls): boolean =>
  account !== undefined && (user ?? account.name) === account.name && subjectNamesOf(account).includes(identity.name);
