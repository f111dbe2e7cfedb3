/** Interface for ending a user's access. `src/revocation` implements it. */
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { Account } from './record/account.ts';
import type { StatusMembers, UserReference } from './status.ts';

/** Reason for the log. */
export type EndReason =
  | 'AccountDisabled'
  | 'AccountLinked'
  | 'AccountUnlinked'
  | 'AddressChanged'
  | 'FactorsReset'
  | 'IssuerLogout'
  | 'LinkUsed'
  | 'Logout'
  | 'RefreshFailed'
  | 'SessionsEnded'
  | 'SubjectsForgotten'
  | 'UserDeleted';

/** All sessions and tokens of a record. */
export interface UserAccess {
  readonly user: UserReference;
  /** Status members to change in the same write, or a function that computes them from the version to replace and throws to refuse. */
  readonly change?: StatusMembers | ((object: KubernetesObject) => StatusMembers | Promise<StatusMembers>);
  /** Deletes access tokens first. They stay if the record is only disabled, and work again once it is enabled. */
  readonly withAccessTokens?: true;
}

/** All sessions and tokens of a user name in Kubernetes. */
export interface SubjectAccess {
  readonly subject: {
    /** User name that Kubernetes sees. */
    readonly subjectName: string;
    /** Record whose access ends. Its UID distinguishes it from a later record of the same name. */
    readonly record: Pick<Account, 'name' | 'uid'>;
    /** Tokens issued before the end of this second are no longer valid. */
    readonly now: Date;
  };
  /** Writes nothing if the access of that very record was ended before, so that its successor keeps later tokens. */
  readonly once?: boolean;
}

export interface EndUserAccess {
  /**
   * Resolves when new sessions and tokens of the user are valid.
   *
   * @returns the record
   * @throws StatusError 409 if the user has been deleted, 503, 504
   */
  (access: UserAccess, reason: EndReason, signal?: AbortSignal): Promise<KubernetesObject>;
  /** Resolves when access has ended on this replica. Other replicas follow by their watch. @throws StatusError 503, 504 */
  (access: SubjectAccess, reason: EndReason, signal: AbortSignal): Promise<void>;
}
