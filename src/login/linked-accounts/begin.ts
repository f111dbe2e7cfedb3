/** Begins to link an account, for a user with a recent login. The callback completes the link in the same session. */
import type { Caller } from '@atrium/http/caller.ts';
import { notSupported } from '@atrium/objects/field-error.ts';
import { conflict, invalid, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { Issuer } from '../../issuer/issuer.ts';
import type { Session } from '../../sessions/browser-sessions.ts';
import type { SessionContext } from '../../sessions/context.ts';
import { requireNoAccessToken, requireRecentLogin } from '../../step-up/sensitive-writes.ts';
import type { Account } from '../../users/record/account.ts';
import { ownAccount, requireAccounts } from '../../users/record/lookup.ts';
import { userResource } from '../../users/record/schema.ts';
import { isNamedByLogin } from '../../users/record/subject-name.ts';
import { beginAt } from '../begin.ts';
import { invalidSession } from '../callback-errors.ts';
import type { FlowCookies, LinkingUser } from '../flow.ts';
import type { LoginInfo } from '../schema.ts';
import type { LinkAccountRequest } from './routes.ts';

/** @throws StatusError 401, 403, 409, 422, 503 */
export async function beginLinking(
  context: SessionContext,
  flows: FlowCookies,
  ctx: Context,
  { issuer: id, return_to }: LinkAccountRequest,
  caller: Caller,
): Promise<LoginInfo> {
  const { config, accounts, now } = context;
  requireNoAccessToken('linkedAccounts', caller);
  requireAccounts(accounts);
  const { account, session } = linkingUser(ownAccount(accounts, caller), caller);
  requireRecentLogin('linkedAccounts', caller, config.login.stepUp, now());
  const issuer = furtherIssuer(context, account, id);
  if (account.subjects?.some((one) => one.issuer === issuer.settings.issuer))
    throw conflict(userResource, account.name, 'the user already has an account of this issuer');
  // The issuer may have a session of another person, so the user must log in there again.
  const query = { prompt: 'login', token_storage: 'cookie' as const, ...(return_to !== undefined && { return_to }) };
  const link = { session, user: account.name, userUID: account.uid };
  return beginAt(context, flows, ctx, { issuer, query, link });
}

/**
 * Returns the user record and the session, to which the callback returns. The caller must be logged in with the account that names the
 * user.
 *
 * @throws StatusError 403
 */
function linkingUser(account: Account | undefined, caller: Caller): { account: Account; session: string } {
  if (account === undefined) throw mayNotLink(caller, 'NoUserRecord', 'the caller has no User record, which a linked account needs');
  if (caller.session === undefined) throw mayNotLink(caller, 'SessionRequired', 'log in with a session (token_storage=cookie)');
  requireLinkable(account, caller.identity.name);
  return { account, session: caller.session };
}

/** Refuses administrators and logins with a linked account. Runs again when the account is linked. @throws StatusError 403 */
export function requireLinkable(account: Account, userName: string): void {
  const caller = { identity: { name: userName } };
  if (account.isAdmin) throw mayNotLink(caller, 'AdministratorIsLocal', 'an administrator logs in at the embedded issuer alone');
  if (!isNamedByLogin(account, caller))
    throw mayNotLink(caller, 'LinkedAccount', 'log in with the account that names the user, not with a linked one');
}

function mayNotLink({ identity }: { identity: { name: string } }, reason: string, message: string): StatusError {
  return new StatusError(403, 'Forbidden', `links are forbidden: User "${identity.name}": ${message}`, {
    details: { group: userResource.group, kind: 'links', causes: [{ reason, message }] },
  });
}

/** Returns the issuer. Refuses the embedded one, whose users have records of their own, which are not merged. @throws StatusError 422 */
function furtherIssuer({ issuers }: SessionContext, { name }: Account, id: string): Issuer {
  const issuer = issuers.named(id);
  if (issuer !== undefined && !issuer.settings.isEmbedded) return issuer;
  const supported = [...issuers.all()].filter(({ settings }) => !settings.isEmbedded).map(({ settings }) => settings.id);
  throw invalid({ group: userResource.group, kind: 'User', name }, [notSupported('issuer', id, supported)]);
}

/** Returns the session of the user who began to link an account, if this browser still has it. @throws StatusError 400, 503 */
export async function sessionOfLinkingUser(
  { cookie, sessions, accountState }: SessionContext,
  ctx: Context,
  link: LinkingUser,
): Promise<Session> {
  const { source, signal } = ctx.state;
  await accountState.whenReady({ signal });
  const secret = cookie.read(ctx);
  const session = secret === undefined ? undefined : await sessions.find(secret, source, signal, true);
  if (session !== undefined) await accountState.requireRecord(session.row, signal);
  if (session === undefined || !isOf(session, link) || accountState.refusalOfSession(session) !== undefined) throw invalidSession();
  return session;
}

const isOf = ({ row }: Session, { session, user, userUID }: LinkingUser): boolean =>
  row.name === session && row.user === user && row.userUID === userUID;
