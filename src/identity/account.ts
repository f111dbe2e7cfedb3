import type { FindAccount } from 'oidc-provider';
import { isRecord } from '../api/reader.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { Account } from '../users/record/account.ts';
import { type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { phaseOf } from '../users/record/phase.ts';
import { recordOf, subjectOf } from '../users/record/subject-name.ts';
import { unavailable } from './adapter.ts';
import { requestScope } from './request-scope.ts';

interface AccountRules {
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  idleDays: number;
  /** Ids of the directories whose passwords count here, too. */
  directories: ReadonlySet<string>;
  /** The client at which a password that is due can be changed. */
  consoleClientID: string;
  now: () => Date;
}

/** What a session or token of a user still counts for: asked at every use of one. */
export function accountFinder({ accounts, localGroups, idleDays, directories, consoleClientID, now }: AccountRules): FindAccount {
  const isOurs = ({ connectorType, connectorID }: Account) =>
    connectorType === 'local' || (connectorType === 'ldap' && directories.has(connectorID));
  // A user who has to change the password does so at the next login; what the console has already goes on, and is let through to little else there.
  const isOfConsole = (clientID: string | undefined, token: unknown) =>
    clientID === undefined || (clientID === consoleClientID && token !== undefined);
  return async (ctx, subject, token) => {
    requireKnown(accounts, localGroups);
    const version = versionIn(ctx.oidc.result);
    if (version !== undefined) await accounts.waitFor(version, seenWithinMs, requestScope().signal);
    const account = accounts.get(recordOf(subject).name);
    if (account === undefined || subjectOf(account) !== subject || !isOurs(account)) return undefined;
    // Locked stops the next login only, or a stranger could end a user's session.
    const { phase } = phaseOf(account, now(), idleDays);
    if (phase === 'Invalid' || phase === 'Disabled') return undefined;
    if (authenticatedAt(ctx.oidc.session, token) < (account.sessionsNotBefore ?? 0)) return undefined;
    if (account.mustChangePassword && !isOfConsole(ctx.oidc.client?.clientId, token)) return undefined;
    return { accountId: subject, claims: () => claimsOf(account, localGroups) };
  };
}

/**
 * For the result of a visit to the login page: the version of the record that it has written last. The replica that goes on may hear of it
 * later, and would ask for the login again, as that of an account whose password is due.
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
 * When the password was given; of an access token, which does not know, when it was issued. Unix seconds. Of a refresh token its time of
 * birth (`iiat`) may be later: then the password was given again (`provenAgain`). `auth_time` in ID tokens is never moved by that.
 */
function authenticatedAt(session: { loginTs?: number | undefined } | undefined, token: Parameters<FindAccount>[2]): number {
  if (token === undefined) return session?.loginTs ?? 0;
  const authTime = 'authTime' in token && typeof token.authTime === 'number' ? token.authTime : (token.iat ?? 0);
  return 'iiat' in token && typeof token.iiat === 'number' ? Math.max(authTime, token.iiat) : authTime;
}

const claimsOf = (account: Account, localGroups: LocalGroupLookup) => ({
  sub: subjectOf(account),
  // Never as verified: a manager or a directory has said so, and what links accounts by verified addresses would take their word.
  email: account.email,
  name: account.username || account.email,
  // As they are when a token is issued.
  groups: [...account.groups, ...localGroups.of(account.name)],
  federated_claims: { connector_id: account.connectorID || 'local', user_id: account.uid },
});
