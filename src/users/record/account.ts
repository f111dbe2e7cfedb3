import { hash } from 'node:crypto';
import { SharedValues } from '@atrium/http/limits/bounded-cache.ts';
import { isReservedGroup } from '@atrium/kubernetes/impersonation.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { machineSubjectName, machineType, type TrustedToken, trustedTokensOf } from './federation.ts';
import { withoutLocalGroups } from './local-groups.ts';
import { type Notice, noticeType, readUser, type UserSpec, type UserStatus } from './schema.ts';

/** Subject of a user at an issuer (OpenID Connect Core 2). */
export interface Subject {
  readonly issuer: string;
  readonly sub: string;
}

/**
 * Value of `sub` after an administrator has had a record forget its account. The issuer stays, and the next login there decides on the
 * account.
 */
export const forgottenSub = '';

/** Further account that the user has proved and linked, but that does not name the user. */
export interface LinkedSubject extends Subject {
  /** User name that Kubernetes sees after a login there. */
  readonly subjectName: string;
  /** Groups from the issuer, without prefix. Local groups and groups reserved by the cluster are left out. */
  readonly groups: readonly string[];
  readonly linkedTime: string;
}

/** User record as login needs it. Times are Unix seconds, and absent if the record does not have them. */
export interface Account {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** E-mail address or plain login string. */
  readonly email: string;
  /** Display name. */
  readonly username: string;
  /** Type of the connector; '' for a user who was registered ahead and has never logged in. */
  readonly connectorType: string;
  readonly connectorID: string;
  readonly isAdmin: boolean;
  /** User name that Kubernetes sees; '' before the first login, and if the record is not canonical. */
  readonly subjectName: string;
  /** Subjects at external issuers, with linked ones; absent before the first login that adopts the record. */
  readonly subjects?: readonly Subject[];
  /** Ids of the entry of a user of a directory. Absent for users of other sources. Records of earlier versions may have none or several. */
  readonly directoryIDs?: readonly string[];
  /** Tokens that a machine user trusts. Absent for all other users. */
  readonly federation?: readonly TrustedToken[];
  /** Linked subjects; absent if there are none. */
  readonly linked?: readonly LinkedSubject[];
  /** True for a user of the embedded issuer, who has a password here or in a directory, or has logged in there. */
  readonly isLocal: boolean;
  /**
   * Groups from the issuer or directory, without prefix. Local groups and groups reserved by the cluster are left out. Empty if the record
   * is not canonical.
   */
  readonly groups: readonly string[];
  readonly mustChangePassword: boolean;
  /** Too many codes were wrong. Codes of an authenticator app are not accepted. */
  readonly isTOTPSuspended: boolean;
  /** Deadline for setting up a required second factor. */
  readonly factorsDue?: number;
  /** Notices to show at the next login; absent if there are none. */
  readonly notices?: readonly Notice[];
  /** Tokens issued earlier are not valid. */
  readonly sessionsNotBefore?: number;
  /** True if the name of the record is the one that the name rule derives from its email. */
  readonly isCanonical: boolean;
  /** False if the user is gone from its source. */
  readonly isValid: boolean;
  readonly isDisabled: boolean;
  /** True if the record is being deleted, and a finalizer delays it. */
  readonly isTerminating: boolean;
  readonly validFrom?: number;
  readonly validUntil?: number;
  readonly lockedUntil?: number;
  readonly created: number;
  /** Latest time of creation, login and activation. */
  readonly lastActive: number;
}

/** Pattern of `spec.email` in the custom resource definition: ASCII with at most one `@`, which excludes look-alikes and paths. */
const loginString = /^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$/;

/** Returns a hash for the name of a record, or for a text that is no label value. */
export const shortHash = (text: string): string => hash('sha256', text).slice(0, 32);

/**
 * Returns the name of the User record of an e-mail address or plain login string: the first 32 hex digits of the SHA-256 of its lower-cased
 * form. The name is a key and no proof. Code that looks up a record by name compares the whole email.
 *
 * @returns undefined if no record can have the email
 */
export const recordName = (login: string): string | undefined =>
  login.length <= 253 && loginString.test(login) ? shortHash(login.toLowerCase()) : undefined;

const sharedGroups = new SharedValues<readonly string[]>(8 * 1024 * 1024);

/** Returns the account of a record that was just read or written. */
export const accountOf = (object: KubernetesObject): Account => accountOfRead(object, readUser(object));

/** Returns the account of a parsed record. Called once per change of a User. */
export function accountOfRead(
  { metadata, spec: stored }: KubernetesObject,
  { spec = {}, status = {} }: ReturnType<typeof readUser>,
): Account {
  const { email = '', expired = {} } = spec;
  const isCanonical = recordName(email) === metadata.name;
  const sessionsNotBefore = seconds(status.sessionsNotBefore);
  const factorsDue = seconds(status.factorsDueTime);
  const notices = noticesOf(status.notices);
  const validFrom = seconds(expired.begin);
  const validUntil = seconds(expired.end);
  const lockedUntil = seconds(status.lockedUntil);
  const { machineName, ...machine } = machineOf(spec, stored);
  const held = isCanonical ? subjectsIn(status.subjects) : {};
  const active = [metadata.creationTimestamp, status.lastLoginTime, status.activatedTime].map((time) => seconds(time) ?? 0);
  const [created = 0] = active;
  const isPasswordKnown = status.passwordChangedTime !== undefined || ['local', directoryType].includes(spec.connector_type ?? '');
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    email,
    username: spec.username ?? '',
    connectorType: spec.connector_type ?? '',
    connectorID: spec.connector_id ?? '',
    isAdmin: spec.is_admin === true,
    subjectName: isCanonical ? nameOf(machineName, status) : '',
    ...held,
    ...machine,
    ...(spec.connector_type === directoryType && { directoryIDs: directoryIDsOf(spec) }),
    isLocal: isPasswordKnown || (status.lastLoginTime !== undefined && held.subjects?.length === held.linked?.length),
    groups: groupsOf((isCanonical && status.groups) || []),
    mustChangePassword: status.mustChangePassword === true,
    isTOTPSuspended: status.isTOTPSuspended === true,
    ...(factorsDue !== undefined && { factorsDue }),
    ...(notices.length > 0 && { notices }),
    ...(sessionsNotBefore !== undefined && { sessionsNotBefore }),
    isCanonical,
    isValid: spec.valid !== false,
    isTerminating: metadata.deletionTimestamp !== undefined,
    isDisabled: spec.is_disabled === true || spec.state === 'inactive',
    ...(validFrom !== undefined && { validFrom }),
    ...(validUntil !== undefined && { validUntil }),
    ...(lockedUntil !== undefined && { lockedUntil }),
    created,
    lastActive: Math.max(...active),
  };
}

/** Returns no members for users who are no machine users. */
const machineOf = ({ connector_type: type, email = '' }: UserSpec, stored: unknown): MachineMembers =>
  type === machineType ? { machineName: machineSubjectName(email), federation: trustedTokensOf(stored) } : {};

interface MachineMembers {
  machineName?: string;
  federation?: readonly TrustedToken[];
}

const nameOf = (machineName: string | undefined, { subjectName = '' }: UserStatus): string => machineName ?? subjectName;

/** `spec.connector_type` of users of directories, and the type of their ids in `spec.ids`. */
export const directoryType = 'ldap';

export const directoryIDsOf = ({ ids = [] }: UserSpec): string[] =>
  ids.flatMap(({ type, id }) => (type === directoryType && id !== undefined ? [id] : []));

const linkedSubject = ({ issuer = '', sub = '', subjectName = '', groups = [], linkedTime = '' }: RecordedSubject): LinkedSubject => ({
  issuer,
  sub,
  subjectName,
  groups: groupsOf(groups),
  linkedTime,
});

/** Returns no members if there are no subjects, as most users have one account at most. */
function subjectsIn(recorded: readonly RecordedSubject[] = []): Pick<Account, 'subjects' | 'linked'> {
  if (recorded.length === 0) return {};
  const linked = recorded.filter(({ linkedTime }) => linkedTime !== undefined).map(linkedSubject);
  const subjects = recorded.map(({ issuer = '', sub = '' }) => ({ issuer, sub }));
  return { subjects, ...(linked.length > 0 && { linked }) };
}

type RecordedSubject = NonNullable<UserStatus['subjects']>[number];

/** Returns the valid notices: known types with a parsable time. Other values in a record are not shown. */
function noticesOf(kept: readonly { type?: string; time?: string }[] = []): readonly Notice[] {
  return kept.flatMap(({ type, time = '' }) => {
    const { data } = noticeType.safeParse(type);
    return data === undefined || Number.isNaN(Date.parse(time)) ? [] : [{ type: data, time }];
  });
}

/** Issuers that users log in at. */
export interface IssuersInUse {
  readonly external: ReadonlySet<string>;
  readonly hasEmbedded: boolean;
}

/**
 * Reports whether the record belongs to another subject of the external issuer, or only to users of other issuers, whose accounts prove
 * nothing about the owner of the address at this issuer.
 */
export function belongsToAnother(account: Owned, { issuer, sub }: Subject, inUse: IssuersInUse): boolean {
  const { subjects = [], isLocal, federation } = account;
  // No login is that of a machine user.
  if (federation !== undefined) return true;
  const known = subjects.find((one) => one.issuer === issuer);
  if (known !== undefined) return known.sub !== forgottenSub && known.sub !== sub;
  return (inUse.hasEmbedded && isLocal) || subjects.some((one) => inUse.external.has(one.issuer));
}

type Owned = Pick<Account, 'subjects' | 'isLocal' | 'federation'>;

/** Returns whether the record has the address of a login string. Case is ignored. */
export const hasAddress = ({ email }: Pick<Account, 'email'>, login: string): boolean => email.toLowerCase() === login.toLowerCase();

/**
 * Returns whether the issuer has given the account of a record another address and name. Roles in Kubernetes are bound to
 * names, and the old name may be another person's next.
 */
export const isRenamed = (account: Pick<Account, 'email' | 'subjectName'>, login: { login: string; subjectName: string }): boolean =>
  !hasAddress(account, login.login) && account.subjectName !== login.subjectName;

/** Reports whether the record has the subject. */
export const hasSubject = ({ subjects = [] }: Pick<Account, 'subjects'>, { issuer, sub }: Subject): boolean =>
  subjects.some((known) => known.issuer === issuer && known.sub === sub);

/** Reports whether the user has linked the subject. The subject that names the user is not a linked one. */
export const isLinkedAccount = ({ linked = [] }: Pick<Account, 'linked'>, { issuer, sub }: Subject): boolean =>
  linked.some((known) => known.issuer === issuer && known.sub === sub);

/** Returns the status members without the subject. */
export function withoutSubject(object: KubernetesObject, { issuer, sub }: Subject): { subjects: object[] | null } {
  const left = (readUser(object).status?.subjects ?? []).filter((known) => known.issuer !== issuer || known.sub !== sub);
  return { subjects: left.length > 0 ? left : null };
}

/** Subject that logs in. `mayAdopt` permits it to adopt a record that belongs to no subject of the issuer yet. */
export interface AdoptingSubject extends Subject {
  readonly mayAdopt: boolean;
}

/** Reports whether the subject may log in with this record, because the record has it or it may adopt the record. */
export function isOf(account: Owned, subject: AdoptingSubject, inUse: IssuersInUse): boolean {
  return !belongsToAnother(account, subject, inUse) && (subject.mayAdopt || hasSubject(account, subject));
}

function seconds(time = ''): number | undefined {
  const milliseconds = Date.parse(time);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

function groupsOf(told: readonly string[]): readonly string[] {
  const groups = withoutLocalGroups(told).filter((group) => !isReservedGroup(group));
  return sharedGroups.of(JSON.stringify(groups), groups);
}
