import { isRecord } from '@atrium/objects/reader.ts';
import type { FindAccount } from 'oidc-provider';
import type { Account } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import { type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { recordOf, subjectOf } from '../users/record/subject-name.ts';
import { unavailable } from './adapter.ts';
import { requestScope } from './request-scope.ts';

interface AccountRules {
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  idleDays: number;
  /** Ids of the directories whose users can log in here. */
  directories: ReadonlySet<string>;
  /** Client of the console, whose tokens stay valid while a password change is required. */
  consoleClientID: string;
  now: () => Date;
}

/** Finds the account of a session or token, if it is still valid. The provider calls it at every use. */
export function accountFinder({ accounts, localGroups, idleDays, directories, consoleClientID, now }: AccountRules): FindAccount {
  const isOurs = ({ connectorType, connectorID }: Account) =>
    connectorType === 'local' || (connectorType === 'ldap' && directories.has(connectorID));
  // A required password change happens at the next login. Existing tokens of the console stay valid, but give access to little else.
  const isOfConsole = (clientID: string | undefined, token: unknown) =>
    clientID === undefined || (clientID === consoleClientID && token !== undefined);
  return async (ctx, subject, token) => {
    requireKnown(accounts, localGroups);
    const version = versionIn(ctx.oidc.result);
    if (version !== undefined) await accounts.watch.waitForWrite(version, requestScope().signal);
    const account = accounts.get(recordOf(subject).name);
    if (account === undefined || subjectOf(account) !== subject || !isOurs(account)) return undefined;
    // A lock only prevents logins; otherwise a stranger could end a user's session.
    const { phase } = phaseOf(account, now(), idleDays);
    if (phase === 'Invalid' || phase === 'Disabled') return undefined;
    if (authenticatedAt(ctx.oidc.session, token) < (account.sessionsNotBefore ?? 0)) return undefined;
    if (account.mustChangePassword && !isOfConsole(ctx.oidc.client?.clientId, token)) return undefined;
    return { accountId: subject, claims: () => claimsOf(account, localGroups) };
  };
}

/** Returns the claims of the user of a `sub`, if the record exists. @throws StatusError 503 while records or groups are unknown */
export function claimsOfSubject({ accounts, localGroups }: Pick<AccountRules, 'accounts' | 'localGroups'>, subject: string) {
  requireAccounts(accounts);
  requireLocalGroups(localGroups);
  const account = accounts.get(recordOf(subject).name);
  return account !== undefined && subjectOf(account) === subject ? claimsOf(account, localGroups) : undefined;
}

/**
 * Returns the part of a login's result that holds the last version of the record that the login has written. The replica that continues
 * may see this version later. Until then it would require the password change again.
 */
export const resultOf = ({ resourceVersion }: Pick<Account, 'resourceVersion'>) => ({ account: { resourceVersion } });

function versionIn(result: unknown): string | undefined {
  const account = isRecord(result) && isRecord(result.account) ? result.account : {};
  return typeof account.resourceVersion === 'string' ? account.resourceVersion : undefined;
}

/** @throws TemporarilyUnavailable */
function requireKnown(accounts: AccountLookup, localGroups: LocalGroupLookup): void {
  try {
    requireAccounts(accounts);
    requireLocalGroups(localGroups);
  } catch (error) {
    throw unavailable(error);
  }
}

/**
 * Returns the Unix time at which the password was given; for an access token, which does not hold it, the time of issue. The `iiat` of a
 * refresh token may be later, if the password was given again (`markReauthenticated`). The `auth_time` in ID tokens never changes.
 */
function authenticatedAt(session: { loginTs?: number | undefined } | undefined, token: Parameters<FindAccount>[2]): number {
  if (token === undefined) return session?.loginTs ?? 0;
  const authTime = 'authTime' in token && typeof token.authTime === 'number' ? token.authTime : (token.iat ?? 0);
  return 'iiat' in token && typeof token.iiat === 'number' ? Math.max(authTime, token.iiat) : authTime;
}

const claimsOf = (account: Account, localGroups: LocalGroupLookup) => ({
  sub: subjectOf(account),
  // No `email_verified`: managers and directories set the address, and clients that link accounts by verified addresses would trust it.
  email: account.email,
  name: account.username || account.email,
  // Groups are current at the time when a token is issued.
  groups: [...account.groups, ...localGroups.of(account.name)],
  federated_claims: { connector_id: account.connectorID || 'local', user_id: account.uid },
});
