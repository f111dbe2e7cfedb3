import type { Caller } from '@atrium/http/caller.ts';
import type { RoleBinding, Subject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { conflict, type StatusError } from '@atrium/objects/status.ts';
import { groupNamesOf } from '../config/issuers.ts';
import type { Services } from '../services.ts';
import { type Account, recordName } from './record/account.ts';
import { type LocalGroupLookup, localGroupOf, requireCurrentGroups } from './record/local-groups.ts';
import { userResource } from './record/schema.ts';
import { isNamedByUID, localSubjectName, type SubjectNaming, subjectNamesOf } from './record/subject-name.ts';

/** UserBindings, which a controller turns into bindings of the cluster, and policies of access requests. */
export interface NamingBindings {
  /** Reports whether a UserBinding or an AccessPolicy names the subject. @throws StatusError 503 while they are unknown */
  names(kind: 'User' | 'Group', name: string): boolean;
}

/**
 * Prevents callers who may edit users from gaining the rights of another user. A caller who creates an account under a name that roles are
 * bound to, or who sets the password of such a user, could act as that user, and so needs the right to impersonate them.
 */
export class SubjectRights {
  readonly #services: Services;
  readonly #naming: SubjectNaming;
  readonly #localGroups: LocalGroupLookup;
  readonly #userBindings: NamingBindings | undefined;

  /** @param userBindings undefined if UserBindings are off */
  constructor(services: Services, naming: SubjectNaming, localGroups: LocalGroupLookup, userBindings: NamingBindings | undefined) {
    this.#services = services;
    this.#naming = naming;
    this.#localGroups = localGroups;
    this.#userBindings = userBindings;
  }

  /**
   * Returns the bindings of the cluster that name the user, without those of the user's groups.
   *
   * @throws StatusError 503 while they are unknown
   */
  bindingsOf(subjectName: string): readonly RoleBinding[] {
    const { rbac } = this.#services;
    rbac.requireSynced();
    return subjectName === '' ? [] : rbac.bindingsOf({ kind: 'User', name: subjectName });
  }

  /** Requires the right to impersonate a user name. @throws StatusError 403 if the caller does not have it, 503 */
  async requireImpersonation(caller: Caller, subjectName: string, signal: AbortSignal): Promise<void> {
    await this.#services.access.require(caller, { group: '', resource: 'users', verb: 'impersonate', name: subjectName }, signal);
  }

  /** Requires the rights to create a local user. @throws StatusError 403, 409 if the user name in Kubernetes is unknown, 503 */
  async requireForNew(caller: Caller, user: Pick<Account, 'name' | 'email'>, signal: AbortSignal): Promise<void> {
    const naming = this.#naming;
    const subjectName = isNamedByUID(naming) ? '' : localSubjectName({ ...user, uid: '' }, naming);
    if (subjectName === undefined) throw unknownName(user.name);
    const isBound = this.#isAnyBound([{ kind: 'User', name: subjectName }], user.name);
    if (isBound) await this.requireImpersonation(caller, subjectName || user.email, signal);
  }

  /**
   * Requires the rights to set the password of an existing user. The status has the user name of the last login. A login with the password
   * may use another name, so both are checked. Bindings of the user's groups and of linked accounts are checked, too.
   *
   * @throws StatusError 403, 409 if the record is not canonical or its user name in Kubernetes is unknown, 503
   */
  async requireForPassword(caller: Caller, account: Account, signal: AbortSignal): Promise<void> {
    const naming = this.#naming;
    const { name, isAdmin } = account;
    if (!account.isCanonical) throw notCanonical(account);
    const local = localSubjectName(account, naming);
    const names = [...new Set([...subjectNamesOf(account), local ?? ''])].filter((one) => one !== '');
    if (names.length === 0) throw unknownName(name);
    const subjects: Subject[] = [
      ...names.map((one): Subject => ({ kind: 'User', name: one })),
      ...groupNamesOf(this.#services.config, account).map((group): Subject => ({ kind: 'Group', name: group })),
    ];
    if (!this.#isAnyBound(subjects, name) && !isAdmin) return;
    for (const one of names) await this.requireImpersonation(caller, one, signal);
  }

  /**
   * Reports whether RBAC, or a UserBinding that is about to become RBAC, names a subject, the record itself, or one of its local groups.
   */
  #isAnyBound(subjects: readonly Subject[], record: string): boolean {
    const { rbac } = this.#services;
    rbac.requireCurrent();
    requireCurrentGroups(this.#localGroups);
    const isNamed = ({ kind, name }: Subject) => this.#userBindings?.names(kind, name) === true;
    const local = this.#localGroups.of(record);
    return (
      isNamed({ kind: 'User', name: record }) ||
      subjects.filter(({ name }) => name !== '').some((subject) => rbac.bindingsOf(subject).length > 0 || isNamed(subject)) ||
      local.some((name) => rbac.bindingsOf({ kind: 'Group', name }).length > 0 || isNamed({ kind: 'Group', name: localGroupOf(name) }))
    );
  }
}

/** Refuses a password for a record that is not canonical, because no login would use it. */
const notCanonical = ({ name, email }: Account): StatusError =>
  conflict(
    userResource,
    name,
    `the record is not called ${recordName(email)}, as its email asks for, so that no login works with it: make the user under that name, and delete this record`,
  );

const unknownName = (name: string): StatusError =>
  conflict(
    userResource,
    name,
    'the user name that Kubernetes will see is not known before a login, so that it cannot be told which rights it has: have the user log in once, or set login.claims.username to email',
  );
