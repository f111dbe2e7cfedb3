/** Lists and unlinks the caller's accounts at issuers. */
import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { conflict, notFound } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { type IssuerConfig, issuersOf } from '../../config/issuers.ts';
import type { SessionContext } from '../../sessions/context.ts';
import type { SessionRow } from '../../sessions/record.ts';
import { requireNoAccessToken, requireRecentLogin } from '../../step-up/sensitive-writes.ts';
import type { Notices } from '../../users/logins/notices.ts';
import { type Account, type LinkedSubject, type Subject, withoutSubject } from '../../users/record/account.ts';
import { ownAccount, requireAccounts } from '../../users/record/lookup.ts';
import { userResource } from '../../users/record/schema.ts';
import { isNamedByLogin, subjectNamesOf } from '../../users/record/subject-name.ts';
import { UserStatusWriter } from '../../users/status.ts';
import type { LinkedAccount, LinkedAccountList } from './routes.ts';

/** Returns the id of a linked account for URLs, in which the issuer and the subject must not appear. */
const linkedAccountID = ({ issuer, sub }: Subject): string => hash('sha256', JSON.stringify([issuer, sub])).slice(0, 32);

/**
 * Lists the caller's accounts, first the one that names the user, and the issuers of which an account can be linked; both are empty
 * without a record.
 *
 * @throws StatusError 503
 */
export function listLinked({ config, accounts }: SessionContext, caller: Caller): LinkedAccountList {
  requireAccounts(accounts);
  const account = ownAccount(accounts, caller);
  if (account === undefined) return { items: [], linkable: [] };
  const issuers = issuersOf(config);
  const isFree = ({ issuer, isEmbedded }: IssuerConfig) => !isEmbedded && !account.subjects?.some((one) => one.issuer === issuer);
  const mayLink = caller.session !== undefined && !account.isAdmin && isNamedByLogin(account, caller);
  const linkable = mayLink ? issuers.filter(isFree).map(({ id, name = id }) => ({ id, name })) : [];
  return { items: shownOf(account, issuers), linkable };
}

function shownOf(account: Account, issuers: readonly IssuerConfig[]): LinkedAccount[] {
  const { linked = [], subjects = [], isLocal, subjectName } = account;
  const named = (issuer: string) => {
    const { id = issuer, name = id } = issuers.find((one) => one.issuer === issuer) ?? {};
    return { issuer: id, name };
  };
  const naming = isLocal ? undefined : subjects.find((one) => !linked.some(({ issuer }) => issuer === one.issuer));
  const embedded = issuers.find(({ isEmbedded }) => isEmbedded)?.issuer;
  const first = naming ?? (embedded === undefined ? undefined : { issuer: embedded, sub: account.uid });
  return [
    ...(first ? [{ id: linkedAccountID(first), ...named(first.issuer), subjectName, isFirst: true }] : []),
    ...linked.map((one) => ({
      id: linkedAccountID(one),
      ...named(one.issuer),
      subjectName: one.subjectName,
      linkedTime: one.linkedTime,
      isFirst: false,
    })),
  ];
}

/**
 * Unlinks an account from its user. Access by that account ends first, so that a retry completes an interrupted request.
 *
 * @throws StatusError 401, 403, 404, 409, 503, 504
 */
export async function unlink(
  context: SessionContext,
  notices: Pick<Notices, 'add'>,
  { ctx, id }: { ctx: Context; id: string },
  caller: Caller,
  signal: AbortSignal,
): Promise<Account> {
  const { config, accounts, endAccess, now } = context;
  requireNoAccessToken('linkedAccounts', caller);
  requireAccounts(accounts);
  const account = ownAccount(accounts, caller);
  requireRecentLogin('linkedAccounts', caller, config.login.stepUp, now());
  const { linked = [] } = account ?? {};
  const linkedSubject = linked.find((one) => linkedAccountID(one) === id);
  if (account !== undefined && linkedSubject === undefined && shownOf(account, issuersOf(config)).some((one) => one.id === id))
    throw conflict(userResource, account.name, 'the account names the user and cannot be unlinked');
  if (account === undefined || linkedSubject === undefined) throw notFound({ group: userResource.group, resource: 'links' }, id);
  const isNamedOtherwise = subjectNamesOf({ ...account, linked: linked.filter((one) => one !== linkedSubject) }).includes(
    linkedSubject.subjectName,
  );
  const end = (held: AbortSignal) => endSessions(context, ctx, { account, linkedSubject, caller }, held);
  // Sessions, refresh tokens and bearer tokens of that name are revoked before the record, which identifies them, loses the account.
  if (linkedSubject.subjectName !== '' && !isNamedOtherwise)
    await endAccess({ subject: { subjectName: linkedSubject.subjectName, record: account, now: now() } }, 'AccountUnlinked', signal);
  await end(signal);
  const { metadata } = await new UserStatusWriter(context).patch(account, (object) => withoutSubject(object, linkedSubject));
  await notices.add(account, 'AccountUnlinked');
  await accounts.watch.waitForWrite(metadata.resourceVersion, signal);
  // The account may have logged in meanwhile. The unlinking continues even if the caller leaves.
  await end(neverAborts);
  return account;
}

/** Deletes the sessions of the account, which are revoked already, and revokes their tokens at the issuer. */
async function endSessions(
  context: SessionContext,
  ctx: Context,
  { account, linkedSubject, caller }: { account: Account; linkedSubject: LinkedSubject; caller: Caller },
  signal: AbortSignal,
): Promise<void> {
  const { store, cookie, farewell } = context;
  const isOf = ({ user, userUID, subjectName }: SessionRow) =>
    user === account.name && userUID === account.uid && subjectName === linkedSubject.subjectName && subjectName !== account.subjectName;
  const rows = store.values().filter(isOf);
  await store.removeAll(rows, signal);
  if (rows.some(({ name }) => name === caller.session)) cookie.expire(ctx);
  await farewell.endSessions(ctx, rows);
}
