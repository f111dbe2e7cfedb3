import type { Account } from '../accounts/account.ts';
import type { Config } from '../config/schema.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { RbacWatch } from '../kubernetes/rbac-watch.ts';
import type { RoleBinding } from '../kubernetes/role-bindings.ts';

export interface SubjectRightsOptions {
  access: AccessReviews;
  rbac: RbacWatch;
  claims: Config['login']['claims'];
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

  /** Of a user that is to be made. @throws StatusError 403, 503 */
  async requireForNew(caller: Caller, subjectName: string, signal: AbortSignal): Promise<void> {
    if (this.bindingsOf(subjectName).length > 0) await this.requireImpersonation(caller, subjectName, signal);
  }

  /** Of a user who is there: bindings of his groups count too. @throws StatusError 403, 503 */
  async requireForPassword(caller: Caller, { subjectName, groups, isAdmin }: Account, signal: AbortSignal): Promise<void> {
    const { rbac, claims } = this.#options;
    const isBound =
      this.bindingsOf(subjectName).length > 0 ||
      groups.some((group) => rbac.bindingsOf({ kind: 'Group', name: claims.groupsPrefix + group }).length > 0);
    if (isBound || isAdmin) await this.requireImpersonation(caller, subjectName, signal);
  }
}
