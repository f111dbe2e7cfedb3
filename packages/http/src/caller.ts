/** Callers of the service: their credentials, and their identities as the API server tells them. */

/**
 * The credential of a caller, after all checks without a call upstream: a bearer token from the header, or the token of a session. Only
 * `hash` (SHA-256, hex) may be stored or serve as a key.
 */
export interface Bearer {
  readonly token: string;
  readonly hash: string;
  /** True if the service itself has verified the token: a token of an issuer of the installation, a session or an access token. */
  readonly isVerified?: true;
  /** Set while the caller views the cluster as another user. `hash` then stands for both. */
  readonly viewing?: Viewing;
  /** Set if calls are made by impersonation instead of with the token. Always derived from the verified token. */
  readonly actAs?: Identity;
  /** Name of the Session object, when a session cookie stands for the token. */
  readonly session?: string;
  /** Name of the User record, when the token is one of the issuer that people log in at. */
  readonly user?: string;
  /** The account at the external issuer, if the token is one of that issuer. */
  readonly subject?: { readonly issuer: string; readonly sub: string };
  /** The login behind the token, from its claims `auth_time` (Unix seconds) and `acr`. */
  readonly login?: { readonly authTime: number; readonly acr?: string };
  /** Id of the access token, which may make no further credentials (`http/sensitive-writes.ts`). */
  readonly accessToken?: string;
  /** Program that acts for the user at `/mcp`. Its token opens nothing else. */
  readonly agent?: Agent;
  /** Set for an access token that may do only a part of what its owner may, and for an agent. */
  readonly scope?: TokenScope;
  /** True if the user must change the password: only operations with `openToPasswordDue` are allowed until then. */
  readonly mustChangePassword?: boolean;
}

/** Program that acts for a user who has allowed it. */
export interface Agent {
  /** Client id at the authorization server. */
  readonly client: string;
  /** Name that the program gives itself. */
  readonly name: string;
  /** Host that the program is from, which its name cannot forge. */
  readonly host: string;
  /** Session in which the user has allowed it. */
  readonly session: string;
  /** Digest of the changes that the user has allowed without a confirmation. */
  readonly direct?: string | undefined;
}

/** Part of the rights of a caller. The API server does not know it: each door of this service compares requests with it. */
export interface TokenScope {
  /** Reports whether an operation takes the credential at all. @param usesKubernetes whether it compares its requests with the scope */
  opens(operation: { id: string; usesKubernetes: boolean }): boolean;
  /** Reports whether the scope has an access. The rights of the caller decide, too. */
  permits(access: ViewedAccess): boolean;
}

/** The identity of a caller as the API server tells it (SelfSubjectReview, authentication.k8s.io/v1). */
export interface Identity {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** User, uid and groups that `Impersonate-*` headers name. */
export interface ViewTarget {
  readonly name: string;
  /** '' without `Impersonate-Uid`. */
  readonly uid: string;
  readonly groups: readonly string[];
}

/** A caller and the user as whom they view the cluster. */
export interface Viewing {
  readonly by: Caller;
  readonly target: ViewTarget;
}

/** An accepted credential and its owner; while viewing, `identity` is that of the target. */
export interface Caller extends Bearer {
  readonly identity: Identity;
}

/** Returns the caller themself, also while they view the cluster as another user. */
export const actorOf = (caller: Caller): Caller => caller.viewing?.by ?? caller;

/** Access that a request takes, in the terms of RBAC. '' is the core group. */
export type ViewedAccess =
  | { verb: string; group: string; resource: string; subresource?: string; namespace?: string; name?: string }
  | { verb: string; path: string };

/**
 * Returns a key for the caller: the user name if it is known, because many tokens of one user are one caller. A view counts as its caller,
 * so that it neither uses the places of the target nor gets places of its own.
 */
export function callerKey(caller: Bearer & { identity?: Identity }): string {
  const { name } = caller.viewing?.by.identity ?? caller.identity ?? caller.actAs ?? {};
  return name === undefined ? `token ${caller.hash}` : `name ${name}`;
}

/** @param user name of a User record */
export const flowOfUser = (user: string): string => `user ${user}`;

/** Returns the key of the caller's flow: a person whose credential has been accepted. */
export function flowOf(caller: Bearer & { identity?: Identity }): string {
  const { user, subject } = caller.viewing?.by ?? caller;
  if (user !== undefined) return flowOfUser(user);
  return subject === undefined ? callerKey(caller) : `subject ${subject.issuer} ${subject.sub}`;
}
