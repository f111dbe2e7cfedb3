/** Users whom a policy names, by their User records. Tokens are not considered, so that a person is the same with each linked account. */
import type { Caller } from '@atrium/http/caller.ts';
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { groupNamesOf } from '../config/issuers.ts';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import { type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { subjectNamesOf } from '../users/record/subject-name.ts';
import type { PolicyRow, PolicySubject } from './policy.ts';
import { accessRequestResource } from './request.ts';

const everyUser = 'Group system:authenticated';
const keyOf = ({ kind, name }: PolicySubject): string => `${kind} ${name}`;

/** An account, compared with policies. */
export interface Person {
  /** Returns the first subject of the policy that stands for the account. */
  subjectOf(policy: Pick<PolicyRow, 'subjects'>): PolicySubject | undefined;
  isApprover(policy: Pick<PolicyRow, 'approvers'>): boolean;
}

/** Compares users with the subjects and approvers of policies. */
export class People {
  readonly #services: Services;
  readonly #localGroups: LocalGroupLookup;
  readonly accounts: AccountLookup;

  constructor(services: Services, accounts: AccountLookup, localGroups: LocalGroupLookup) {
    this.#services = services;
    this.accounts = accounts;
    this.#localGroups = localGroups;
  }

  /** Requires current users and groups, because an outdated membership could give a role. @throws StatusError 503 */
  requireCurrent(): void {
    requireAccounts(this.accounts);
    requireCurrentGroups(this.#localGroups);
  }

  /** Returns the caller's account, or undefined for a caller without one, or whose account may not log in. */
  normal(caller: Caller): Account | undefined {
    const account = ownAccount(this.accounts, caller);
    return account && this.isNormal(account) && !isReservedName(caller.identity.name) ? account : undefined;
  }

  /** Returns the account of a caller who writes. @throws StatusError 403, cause `NoRecord`; 503 */
  requireNormal(caller: Caller): Account {
    this.requireCurrent();
    const account = this.normal(caller);
    if (account === undefined)
      throw refusedAccess(caller, 'NoRecord', 'access requests require a User record that may log in, and the caller has none');
    return account;
  }

  /** Reports whether the account may log in, apart from a lock after failed logins, which only stops new logins. */
  isNormal(account: Account): boolean {
    const { phase } = phaseOf(account, this.#services.now(), this.#services.config.users.idleDays);
    return phase === 'Normal' || phase === 'Locked';
  }

  /** Returns the keys of all subjects that stand for the account, sorted. */
  keysOf(account: Account): readonly string[] {
    const users = subjectNamesOf(account).map((name) => `User ${name}`);
    const groups = [...groupNamesOf(this.#services.config, account), ...this.#localGroups.of(account.name)].map((name) => `Group ${name}`);
    return [...new Set([...users, ...groups])].sort();
  }

  /** Returns the comparison of an account with policies. Its names are gathered once, as a list compares every row. */
  of(account: Account): Person {
    const keys = new Set(this.keysOf(account));
    return {
      subjectOf: ({ subjects }) => subjects.find((subject) => keyOf(subject) === everyUser || keys.has(keyOf(subject))),
      isApprover: ({ approvers }) => approvers.some((approver) => keys.has(keyOf(approver))),
    };
  }
}

/** Returns a 403 with its cause. */
export const refusedAccess = ({ identity }: Caller, reason: string, message: string): StatusError =>
  new StatusError(403, 'Forbidden', `accessrequests.auth.platform.io is forbidden: User "${identity.name}": ${message}`, {
    details: { group: accessRequestResource.group, kind: accessRequestResource.resource, causes: [{ reason, message }] },
  });
