import type { Account } from '../accounts/account.ts';
import { type LocalGroupLookup, localGroupOf, requireLocalGroups } from '../accounts/local-groups.ts';
import type { Config } from '../config/schema.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { RbacWatch } from '../kubernetes/rbac-watch.ts';
import type { RoleBinding } from '../kubernetes/role-bindings.ts';

export interface SubjectRightsOptions {
  access: AccessReviews;
  rbac: RbacWatch;
  localGroups: LocalGroupLookup;
  /** Undefined where UserBindings are turned off. */
  userBindings: NamingBindings | undefined;
  claims: Config['login']['claims'];
}

/** UserBindings, which name records and Groups, and become bindings of the cluster in a moment. */
export interface NamingBindings {
  /** Whether one names it. @throws StatusError 503 while they are not known */
  names(kind: 'User' | 'Group', name: string): boolean;
}

/**
 * Keeps those who may edit users from getting what somebody else may do: whoever makes an account for a name that roles are bound to, or
 * sets the password of one, could act as it, and so needs the right to impersonate it.
 */
export class SubjectRights {
  readonly #options: SubjectRightsOptions;

  constructor(options: SubjectRightsOptions) {
    this.#options = options;
  }

  /** Bindings of the cluster that name the user, but not his groups. @throws StatusError 503 while they are not known */
  bindingsOf(subjectName: string): readonly RoleBinding[] {
    const { rbac } = this.#options;
    rbac.requireSynced();
    return subjectName === '' ? [] : rbac.bindingsOf({ kind: 'User', name: subjectName });
  }

  /** @throws StatusError 403 if the caller may not act as them, 503 */
  async requireImpersonation(caller: Caller, subjectName: string, signal: AbortSignal): Promise<void> {
    await this.#options.access.require(caller, { group: '', resource: 'users', verb: 'impersonate', name: subjectName }, signal);
  }

  /** Of a user that is to be made, by record and by the name that Kubernetes will see. @throws StatusError 403, 503 */
  async requireForNew(caller: Caller, { name, subjectName }: Pick<Account, 'name' | 'subjectName'>, signal: AbortSignal): Promise<void> {
    if (this.bindingsOf(subjectName).length > 0 || this.#isRecordBound(name)) await this.requireImpersonation(caller, subjectName, signal);
  }

  /** Of a user who is there: bindings of his groups count too. @throws StatusError 403, 503 */
  async requireForPassword(caller: Caller, { name, subjectName, groups, isAdmin }: Account, signal: AbortSignal): Promise<void> {
    const { rbac, claims } = this.#options;
    const isBound =
      this.bindingsOf(subjectName).length > 0 ||
      this.#isRecordBound(name) ||
      groups.some((group) => rbac.bindingsOf({ kind: 'Group', name: claims.groupsPrefix + group }).length > 0);
    if (isBound || isAdmin) await this.requireImpersonation(caller, subjectName, signal);
  }

  /** By a UserBinding, or by a local group that the record is in. */
  #isRecordBound(name: string): boolean {
    const { rbac, localGroups, userBindings } = this.#options;
    requireLocalGroups(localGroups);
    return (
      userBindings?.names('User', name) ||
      localGroups
        .of(name)
        .some((group) => rbac.bindingsOf({ kind: 'Group', name: group }).length > 0 || userBindings?.names('Group', localGroupOf(group)))
    );
  }
}
