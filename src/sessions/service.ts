import type { Caller } from '@atrium/http/caller.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { isGone } from '@atrium/kubernetes/upstream-error.ts';
import { notFound, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import type { Page } from '../collection/page.ts';
import type { Scope } from '../collection/query.ts';
import type { ListParameters } from '../collection/schema.ts';
import type { Account } from '../users/record/account.ts';
import { ownAccount } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { isSelf } from '../users/record/subject-name.ts';
import type { SessionContext } from './context.ts';
import { type SessionRow, sessionResource } from './record.ts';
import { withCurrent } from './schema.ts';

const deletionsAtOnce = 10;

export interface SessionDeletion {
  name: string;
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
}

/**
 * Lists and ends sessions. Users manage their own without RBAC, with the service account; other users' sessions need RBAC on `sessions`,
 * and are deleted as the caller.
 */
export class SessionService {
  readonly #context: SessionContext;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /**
   * Returns the valid sessions of a user; the caller's own by default.
   *
   * @param user name of a User record
   * @throws StatusError 400, 403, 410, 503, 504
   */
  async list({ user, ...parameters }: ListParameters & { user?: string | undefined }, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { store, accountState } = this.#context;
    await accountState.whenReady({ signal });
    const scope = this.#scope(caller, user);
    if (!scope.isOwn) await this.#require('list', caller, signal);
    const { session } = caller;
    const { cache, lister } = store.collection;
    // The list includes the session of a user who has just logged in.
    if (session !== undefined && cache.isSynced) await cache.waitForWrite(() => cache.get(session) !== undefined, signal);
    return withCurrent(await lister.list(parameters, signal, scope), session);
  }

  /**
   * Ends one session.
   *
   * @throws StatusError 403 for a session that is not the caller's or does not exist, if the caller may not delete it; 404, 409, 503, 504
   */
  async end(ctx: Context, { name, preconditions, isDryRun }: SessionDeletion, caller: Caller, signal: AbortSignal): Promise<void> {
    const { store, accounts, apiServer } = this.#context;
    const row = await store.find(name, auditOrigin(ctx).source, signal);
    const isOwn = row !== undefined && isOf(row, caller, ownAccount(accounts, caller));
    if (!isOwn) await this.#require('delete', caller, signal, name);
    if (row === undefined) throw notFound(sessionResource, name);
    const client = isOwn ? undefined : apiServer.asCaller(caller);
    await store.delete(row, client, { ...(preconditions && { preconditions }), isDryRun, signal });
    if (isDryRun) return;
    await this.#ended(ctx, [row], { caller, isOwn }, signal);
  }

  /**
   * Ends all access of a user, the caller by default: sessions, also the session of the request, issued tokens, and the login that the
   * embedded issuer remembers, so that the user is not logged in again without a password.
   *
   * @param user name of a User record
   * @throws StatusError 403, 404, 503, 504
   */
  async endAll(ctx: Context, user: string | undefined, caller: Caller, signal: AbortSignal): Promise<void> {
    const { store, accounts, accountState, apiServer } = this.#context;
    await accountState.whenReady({ signal });
    const { isOwn, belongs } = this.#scope(caller, user);
    if (!isOwn) await this.#require('delete', caller, signal);
    const account = isOwn ? ownAccount(accounts, caller) : accounts.get(user ?? '');
    const rows = store.values().filter(belongs);
    if (!isOwn && account === undefined && rows.length === 0) throw notFound(userResource, user ?? '');
    if (account !== undefined) await this.#endAccessOf(account, signal);
    const client = isOwn ? undefined : apiServer.asCaller(caller);
    // The access has ended, so the rest follows even if the caller leaves.
    const held = account === undefined ? signal : neverAborts;
    await mapLimit(deletionsAtOnce, rows, (row) => store.delete(row, client, { signal: held }).catch(ignoreGone(row)));
    await this.#ended(ctx, rows, { caller, isOwn }, signal);
  }

  /** Invalidates all access on every replica, even if a later step fails. */
  async #endAccessOf({ name, uid }: { name: string; uid: string }, signal: AbortSignal): Promise<void> {
    const { accounts, endAccess } = this.#context;
    try {
      const { metadata } = await endAccess({ user: { name, uid } }, 'SessionsEnded');
      await accounts.watch.waitForWrite(metadata.resourceVersion, signal);
    } catch (error) {
      // Access of a user who was deleted meanwhile is invalid anyway.
      if (!(error instanceof StatusError && error.status.code === 409)) throw error;
    }
  }

  async #ended(ctx: Context, rows: readonly SessionRow[], by: { caller: Caller; isOwn: boolean }, signal: AbortSignal): Promise<void> {
    const { cookie, farewell, store } = this.#context;
    const { cache } = store.collection;
    for (const row of rows) this.#record(ctx, row, by);
    if (rows.some(({ name }) => name === by.caller.session)) cookie.expire(ctx);
    await cache.waitForWrite(() => rows.every(({ name, uid }) => cache.get(name)?.uid !== uid), signal);
    await farewell.endSessions(ctx, rows);
  }

  #record(ctx: Context, { user, userUID = '' }: SessionRow, { caller, isOwn }: { caller: Caller; isOwn: boolean }): void {
    const target = { name: user, uid: userUID };
    this.#context.audit.recordWrite(ctx, caller, { audit: isOwn ? 'LoggedOut' : 'SessionDeleted', target, code: 204 });
  }

  /** Selects the sessions of a request. The caller's own sessions match by user name in Kubernetes or by record. */
  #scope(caller: Caller, user: string | undefined): Scope<SessionRow> & { isOwn: boolean; belongs: (row: SessionRow) => boolean } {
    const { accounts, accountState, now } = this.#context;
    const own = ownAccount(accounts, caller);
    const isOwn = user === undefined || isSelf(accounts.get(user), caller);
    const belongs = isOwn ? (row: SessionRow) => isOf(row, caller, own) : (row: SessionRow) => row.user === user;
    const moment = Math.floor(now().getTime() / 1000);
    const counts = (row: SessionRow) => moment * 1000 < row.idleExpiresAt && accountState.refusalOfRow(row) === undefined;
    return {
      key: JSON.stringify([isOwn, isOwn ? [caller.identity.name, own?.uid] : user, moment]),
      fits: (row) => belongs(row) && counts(row),
      isOwn,
      belongs,
    };
  }

  #require(verb: 'list' | 'delete', caller: Caller, signal: AbortSignal, name?: string): Promise<void> {
    const { access, namespace } = this.#context;
    return access.require(caller, { ...sessionResource, verb, namespace, ...(name !== undefined && { name }) }, signal);
  }
}

/** Matches by user name, which needs no record, or by record, which covers all linked accounts of the user. */
const isOf = ({ user, userUID, subjectName }: SessionRow, { identity }: Caller, own: Account | undefined): boolean =>
  (subjectName !== '' && subjectName === identity.name) || (own !== undefined && userUID === own.uid && user === own.name);

/** Ignores a session that has expired or that another request has ended. */
const ignoreGone =
  ({ name }: SessionRow) =>
  (error: unknown): void => {
    if (!isGone(error, sessionResource, name)) throw error;
  };
