/** Ends sessions for users: their own with the service account, which needs no RBAC, and those of other users as the caller. */
import type { Caller } from '@atrium/http/caller.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { isGone } from '@atrium/kubernetes/upstream-error.ts';
import { notFound, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { ownAccount } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import type { SessionContext } from './context.ts';
import { type SessionRow, sessionResource } from './record.ts';
import { isAboutSelf, ownSessions, selectionOf, sessionRight } from './strategy.ts';

const deletionsAtOnce = 10;

interface SessionDeletion {
  name: string;
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
}

interface EndRequest {
  ctx: Context;
  caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Ends one session.
 *
 * @throws StatusError 403 for a session that is not the caller's or does not exist, if the caller may not delete it; 404, 409, 503, 504
 */
export async function endSession(
  context: SessionContext,
  { name, preconditions, isDryRun }: SessionDeletion,
  { ctx, caller, signal }: EndRequest,
): Promise<void> {
  const { store, access, apiServer } = context;
  const row = await store.find(name, auditOrigin(ctx).source, signal);
  const isSelf = row !== undefined && ownSessions(context, caller)(row);
  if (!isSelf) await access.require(caller, sessionRight(context, 'delete', name), signal);
  if (row === undefined) throw notFound(sessionResource, name);
  const client = isSelf ? undefined : apiServer.asCaller(caller);
  await store.delete(row, client, { ...(preconditions && { preconditions }), isDryRun, signal });
  if (!isDryRun) await completeEnd(context, [row], { ctx, caller, signal, isSelf });
}

/**
 * Ends all access of a user, the caller by default: sessions, also the session of the request, issued tokens, and the login that the
 * embedded issuer remembers, so that the user is not logged in again without a password.
 *
 * @param user name of a User record
 * @throws StatusError 403, 404, 503, 504
 */
export async function endSessions(context: SessionContext, user: string | undefined, { ctx, caller, signal }: EndRequest): Promise<void> {
  const { store, access, accounts, accountState, apiServer } = context;
  await accountState.whenReady({ signal });
  const isSelf = isAboutSelf(context, user, caller);
  if (!isSelf) await access.require(caller, sessionRight(context, 'delete'), signal);
  const account = isSelf ? ownAccount(accounts, caller) : accounts.get(user ?? '');
  const rows = store.values().filter(selectionOf(context, user, caller));
  if (!isSelf && account === undefined && rows.length === 0) throw notFound(userResource, user ?? '');
  if (account !== undefined) await endAccessOf(context, account, signal);
  const client = isSelf ? undefined : apiServer.asCaller(caller);
  // The access has ended, so the rest follows even if the caller leaves.
  const held = account === undefined ? signal : neverAborts;
  await mapLimit(deletionsAtOnce, rows, (row) => store.delete(row, client, { signal: held }).catch(ignoreGone(row)));
  await completeEnd(context, rows, { ctx, caller, signal, isSelf });
}

/** Invalidates all access on every replica, even if a later step fails. */
async function endAccessOf(
  { accounts, endAccess }: SessionContext,
  { name, uid }: { name: string; uid: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    const { metadata } = await endAccess({ user: { name, uid } }, 'SessionsEnded');
    await accounts.watch.waitForWrite(metadata.resourceVersion, signal);
  } catch (error) {
    // Access of a user who was deleted meanwhile is invalid anyway.
    if (!(error instanceof StatusError && error.status.code === 409)) throw error;
  }
}

async function completeEnd(
  { audit, cookie, farewell, store }: SessionContext,
  rows: readonly SessionRow[],
  { ctx, caller, signal, isSelf }: EndRequest & { isSelf: boolean },
): Promise<void> {
  const { cache } = store.collection;
  const event = isSelf ? 'LoggedOut' : 'SessionDeleted';
  for (const { user, userUID = '' } of rows)
    audit.recordWrite(ctx, caller, { audit: event, target: { name: user, uid: userUID }, code: 204 });
  if (rows.some(({ name }) => name === caller.session)) cookie.expire(ctx);
  await cache.waitForWrite(() => rows.every(({ name, uid }) => cache.get(name)?.uid !== uid), signal);
  await farewell.endSessions(ctx, rows);
}

/** Ignores a session that has expired or that another request has ended. */
const ignoreGone =
  ({ name }: SessionRow) =>
  (error: unknown): void => {
    if (!isGone(error, sessionResource, name)) throw error;
  };
