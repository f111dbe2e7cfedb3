/** The end of a user's access, as the operations on users ask for it; `src/revocation` implements it. */
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { Account } from './record/account.ts';
import type { StatusMembers, UserReference } from './status.ts';

/** Why access ends, for the log. */
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
  /** Status members to change in the same write, or how they follow from the version that is replaced; throws to refuse. */
  readonly change?: StatusMembers | ((object: KubernetesObject) => StatusMembers | Promise<StatusMembers>);
  /** Whether access tokens are deleted first; a record that is only disabled gets the use of them back. */
  readonly withAccessTokens?: true;
}

/** All sessions and tokens of a user name in Kubernetes. */
export interface SubjectAccess {
  readonly subject: {
    /** The user name that Kubernetes sees. */
    readonly subjectName: string;
    /** The UID distinguishes a later record of that name. */
    readonly record: Pick<Account, 'name' | 'uid'>;
    /** Tokens issued before the end of this second are no longer valid. */
    readonly now: Date;
  };
  /** Whether nothing is written if the access of that very record was ended before: its successor keeps later tokens. */
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
  /** Ended on this replica when it resolves, on others as soon as their watch tells. @throws StatusError 503, 504 */
  (access: SubjectAccess, reason: EndReason, signal: AbortSignal): Promise<void>;
}
