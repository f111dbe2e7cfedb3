import { LRUCache } from 'lru-cache';
import { isReservedGroup } from '../../kubernetes/impersonation.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import { isLocalGroupName } from './local-groups.ts';
import { recordName } from './name.ts';
import { type Notice, noticesOf } from './notice.ts';
import { readUser, type UserStatus } from './schema.ts';

/** Who a user is at an issuer (OpenID Connect Core 2). */
export interface Subject {
  readonly issuer: string;
  readonly sub: string;
}

/** `sub` where an administrator had a record forget whom it belongs to: of the issuer still, and of whom it says next. */
export const forgottenSub = '';

/** A further account of the user, which the user has proved and linked. It does not name the user. */
export interface LinkedSubject extends Subject {
  /** The user name that Kubernetes sees after a login there. */
  readonly subjectName: string;
  /** As the issuer told, without prefix; never one that is kept here or by the cluster. */
  readonly groups: readonly string[];
  readonly linkedTime: string;
}

/** A User record as login needs it. All times are Unix seconds; one that the record does not have is absent. */
export interface Account {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** E-mail address or plain login string. */
  readonly email: string;
  /** For display. */
  readonly username: string;
  /** '' for a user who was registered ahead and has never logged in. */
  readonly connectorType: string;
  readonly connectorID: string;
  readonly isAdmin: boolean;
  /** The user name that Kubernetes sees; '' before the first login, and of a record that is not canonical, which is no user. */
  readonly subjectName: string;
  /** Who this is at each external issuer, linked ones among them; absent before the first login that links one. */
  readonly subjects?: readonly Subject[];
  /** Absent where there is none. */
  readonly linked?: readonly LinkedSubject[];
  /** Whether it is a user of the embedded issuer: has a password here or in a directory, or has logged in there. */
  readonly isLocal: boolean;
  /** As the issuer or directory told, without prefix; never one that is kept here or by the cluster. None of a record that is not canonical. */
  readonly groups: readonly string[];
  readonly mustChangePassword: boolean;
  /** Too many codes were wrong: those of an app count no longer. */
  readonly isTOTPSuspended: boolean;
  /** Until when a second factor that is required may be set up. */
  readonly factorsDue?: number;
  /** What is told at the next login; absent if there is nothing. */
  readonly notices?: readonly Notice[];
  /** Tokens issued earlier do not count. */
  readonly sessionsNotBefore?: number;
  /** Whether the record's name is the one that the name rule gives its email. */
  readonly isCanonical: boolean;
  /** False: gone from its source. */
  readonly isValid: boolean;
  readonly isDisabled: boolean;
  /** Being deleted: a finalizer holds it up. */
  readonly isTerminating: boolean;
  readonly validFrom?: number;
  readonly validUntil?: number;
  readonly lockedUntil?: number;
  /** The latest of creation, login and activation. */
  readonly lastActive: number;
}

/** Bounds what is shared, not what is kept: other lists of groups are kept once per user. */
const sharedGroups = new LRUCache<string, readonly string[]>({ max: 4096 });

/** Of a record that was just read or written. */
export const accountOf = (object: KubernetesObject): Account => accountOfRead(object, readUser(object));

/** Called once per change of a User. */
export function accountOfRead({ metadata }: KubernetesObject, { spec = {}, status = {} }: ReturnType<typeof readUser>): Account {
  const { email = '', expired = {} } = spec;
  const isCanonical = recordName(email) === metadata.name;
  const sessionsNotBefore = seconds(status.sessionsNotBefore);
  const factorsDue = seconds(status.factorsDueTime);
  const validFrom = seconds(expired.begin);
  const validUntil = seconds(expired.end);
  const lockedUntil = seconds(status.lockedUntil);
  const held = isCanonical ? subjectsIn(status.subjects) : {};
  const active = [metadata.creationTimestamp, status.lastLoginTime, status.activatedTime].map((time) => seconds(time) ?? 0);
  const isPasswordKnown = status.passwordChangedTime !== undefined || ['local', 'ldap'].includes(spec.connector_type ?? '');
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    email,
    username: spec.username ?? '',
    connectorType: spec.connector_type ?? '',
    connectorID: spec.connector_id ?? '',
    isAdmin: spec.is_admin === true,
    subjectName: (isCanonical && status.subjectName) || '',
    ...held,
    isLocal: isPasswordKnown || (status.lastLoginTime !== undefined && held.subjects?.length === held.linked?.length),
    groups: groupsOf((isCanonical && status.groups) || []),
    mustChangePassword: status.mustChangePassword === true,
    isTOTPSuspended: status.isTOTPSuspended === true,
    ...(factorsDue !== undefined && { factorsDue }),
    ...told(noticesOf(status.notices)),
    ...(sessionsNotBefore !== undefined && { sessionsNotBefore }),
    isCanonical,
    isValid: spec.valid !== false,
    isTerminating: metadata.deletionTimestamp !== undefined,
    isDisabled: spec.is_disabled === true || spec.state === 'inactive',
    ...(validFrom !== undefined && { validFrom }),
    ...(validUntil !== undefined && { validUntil }),
    ...(lockedUntil !== undefined && { lockedUntil }),
    lastActive: Math.max(...active),
  };
}

const linkedSubject = ({ issuer = '', sub = '', subjectName = '', groups = [], linkedTime = '' }: RecordedSubject): LinkedSubject => ({
  issuer,
  sub,
  subjectName,
  groups: groupsOf(groups),
  linkedTime,
});

/** Undefined where there are none: most users have one account at most. */
function subjectsIn(recorded: readonly RecordedSubject[] = []): Pick<Account, 'subjects' | 'linked'> {
  if (recorded.length === 0) return {};
  const linked = recorded.filter(({ linkedTime }) => linkedTime !== undefined).map(linkedSubject);
  const subjects = recorded.map(({ issuer = '', sub = '' }) => ({ issuer, sub }));
  return { subjects, ...(linked.length > 0 && { linked }) };
}

type RecordedSubject = NonNullable<UserStatus['subjects']>[number];

const told = (notices: readonly Notice[]): { notices?: readonly Notice[] } => (notices.length > 0 ? { notices } : {});

/** The issuers that people log in at. */
export interface IssuersInUse {
  readonly external: ReadonlySet<string>;
  readonly hasEmbedded: boolean;
}

/**
 * Whether the record belongs to another subject of that external issuer; or to users of other issuers alone, which say nothing of whose
 * address it is.
 */
export function belongsToAnother(account: Owned, { issuer, sub }: Subject, inUse: IssuersInUse): boolean {
  const { subjects = [], isLocal } = account;
  const known = subjects.find((one) => one.issuer === issuer);
  if (known !== undefined) return known.sub !== forgottenSub && known.sub !== sub;
  return (inUse.hasEmbedded && isLocal) || subjects.some((one) => inUse.external.has(one.issuer));
}

type Owned = Pick<Account, 'subjects' | 'isLocal'>;

/** Returns whether the record has the address of a login string. Case is ignored. */
export const hasAddress = ({ email }: Pick<Account, 'email'>, login: string): boolean => email.toLowerCase() === login.toLowerCase();

/**
 * Returns whether the issuer has given the account of a record another address and name. Roles in Kubernetes are bound to
 * names, and the old name may be another person's next.
 */
export const isRenamed = (account: Pick<Account, 'email' | 'subjectName'>, login: { login: string; subjectName: string }): boolean =>
  !hasAddress(account, login.login) && account.subjectName !== login.subjectName;

/** Whether a login of that subject has linked the record. */
export const isLinkedTo = ({ subjects = [] }: Pick<Account, 'subjects'>, { issuer, sub }: Subject): boolean =>
  subjects.some((known) => known.issuer === issuer && known.sub === sub);

/** Whether the user has linked that subject; the one that names the user is not among those. */
export const isLinked = ({ linked = [] }: Pick<Account, 'linked'>, { issuer, sub }: Subject): boolean =>
  linked.some((known) => known.issuer === issuer && known.sub === sub);

/** What the status says of subjects once that one is none any more. */
export function withoutSubject(object: KubernetesObject, { issuer, sub }: Subject): { subjects: object[] | null } {
  const left = (readUser(object).status?.subjects ?? []).filter((known) => known.issuer !== issuer || known.sub !== sub);
  return { subjects: left.length > 0 ? left : null };
}

/** A subject that logs in, and whether a record that belongs to none of the issuer yet may become its own. */
export interface LinkingSubject extends Subject {
  readonly mayLink: boolean;
}

/** Whether a login of that subject is one of this record, or may become one. */
export function isOf(account: Owned, subject: LinkingSubject, inUse: IssuersInUse): boolean {
  return !belongsToAnother(account, subject, inUse) && (subject.mayLink || isLinkedTo(account, subject));
}

function seconds(time = ''): number | undefined {
  const milliseconds = Date.parse(time);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

function groupsOf(told: readonly string[]): readonly string[] {
  const groups = told.filter((group) => !isLocalGroupName(group) && !isReservedGroup(group));
  const key = JSON.stringify(groups);
  const shared = sharedGroups.get(key);
  if (shared === undefined) sharedGroups.set(key, groups);
  return shared ?? groups;
}
