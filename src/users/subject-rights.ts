import { conflict, type StatusError } from '../api/status.ts';
import { groupNamesOf } from '../config/issuers.ts';
import type { Caller } from '../http/operation.ts';
import type { RoleBinding, Subject } from '../rbac/role-bindings.ts';
import type { Services } from '../services.ts';
import type { Account } from './record/account.ts';
import { type LocalGroupLookup, localGroupOf, requireCurrentGroups } from './record/local-groups.ts';
import { recordName } from './record/name.ts';
import { userResource } from './record/resource.ts';
import { isNamedByUID, localSubjectName, type SubjectNaming, subjectNamesOf } from './record/subject-name.ts';

/** UserBindings, which name records and Groups, and become bindings of the cluster in a moment. */
export interface NamingBindings {
  /** Whether one names it. @throws StatusError 503 while they are not known */
  names(kind: 'User' | 'Group', name: string): boolean;
}

/**
 * Keeps those who may edit users from getting the rights of another user: a caller who makes an account for a name that roles are bound to, or
 * sets the password of one, could act as it, and so needs the right to impersonate it.
 */
export class SubjectRights {
  readonly #services: Services;
  readonly #naming: SubjectNaming;
  readonly #localGroups: LocalGroupLookup;
  readonly #userBindings: NamingBindings | undefined;

  /** @param userBindings undefined where they are turned off */
  constructor(services: Services, naming: SubjectNaming, localGroups: LocalGroupLookup, userBindings: NamingBindings | undefined) {
    this.#services = services;
    this.#naming = naming;
    this.#localGroups = localGroups;
    this.#userBindings = userBindings;
  }

  /** Bindings of the cluster that name the user, but not his groups. @throws StatusError 503 while they are not known */
  bindingsOf(subjectName: string): readonly RoleBinding[] {
    const { rbac } = this.#services;
    rbac.requireSynced();
    return subjectName === '' ? [] : rbac.bindingsOf({ kind: 'User', name: subjectName });
  }

  /** @throws StatusError 403 if the caller may not act as them, 503 */
  async requireImpersonation(caller: Caller, subjectName: string, signal: AbortSignal): Promise<void> {
    await this.#services.access.require(caller, { group: '', resource: 'users', verb: 'impersonate', name: subjectName }, signal);
  }

  /** Of a local user that is to be made. @throws StatusError 403, 409 where the name is not known, 503 */
  async requireForNew(caller: Caller, user: Pick<Account, 'name' | 'email'>, signal: AbortSignal): Promise<void> {
    const naming = this.#naming;
    const subjectName = isNamedByUID(naming) ? '' : localSubjectName({ ...user, uid: '' }, naming);
    if (subjectName === undefined) throw unknownName(user.name);
    const isBound = this.#isAnyBound([{ kind: 'User', name: subjectName }], user.name);
    if (isBound) await this.requireImpersonation(caller, subjectName || user.email, signal);
  }

  /**
   * Of a user who is there. What the status says is what the last login told; a login with the password may tell another name, so that
   * both count. Bindings of the user's groups count too, and all that the user has by linked accounts.
   *
   * @throws StatusError 403, 409 where the name is not known, 503
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

  /** Any of the subjects, or the record itself or a local group that it is in, by RBAC or by what is about to become RBAC. */
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

/** Such a record is no user, and a password for it would be of no use. */
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
