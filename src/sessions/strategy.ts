/** Rules of sessions: users see and end their own; sessions of other users need RBAC on `sessions`. */
import type { Caller } from '@atrium/http/caller.ts';
import type { Scope } from '@atrium/lists/query.ts';
import type { SelectVisible } from '@atrium/lists/visible-rows.ts';
import { z } from 'zod';
import { ownAccount } from '../users/record/lookup.ts';
import { isSelf } from '../users/record/subject-name.ts';
import type { SessionContext } from './context.ts';
import { type SessionRow, sessionResource } from './record.ts';
import { markCurrent } from './schema.ts';

export const userParameter = z.object({
  user: z.string().min(1).max(253).optional().describe('Name of a User record. Default: the caller.'),
});

/** Returns a predicate for the caller's own sessions: by user name, which needs no record, or by record, which covers all linked accounts. */
export function ownSessions({ accounts }: SessionContext, caller: Caller): (row: SessionRow) => boolean {
  const own = ownAccount(accounts, caller);
  const { name } = caller.identity;
  return ({ user, userUID, subjectName }) =>
    (subjectName !== '' && subjectName === name) || (own !== undefined && userUID === own.uid && user === own.name);
}

/** Reports whether a request is about the caller's own sessions. */
export const isAboutSelf = ({ accounts }: SessionContext, user: string | undefined, caller: Caller): boolean =>
  user === undefined || isSelf(accounts.get(user), caller);

/** Returns the right of callers to sessions of other users. */
export const sessionRight = ({ namespace }: SessionContext, verb: 'list' | 'watch' | 'delete', name?: string) => ({
  ...sessionResource,
  verb,
  namespace,
  ...(name !== undefined && { name }),
});

/** Selects the valid sessions of a user; the caller's own by default. Marks the session of the request. */
export const visibleSessions =
  (context: SessionContext): SelectVisible<SessionRow> =>
  async (query, { caller, verb, signal }) => {
    const { user } = userParameter.parse(query);
    const { access, accountState, store } = context;
    await accountState.whenReady({ signal });
    const { cache } = store.collection;
    const { session } = caller;
    const right = isAboutSelf(context, user, caller) ? undefined : sessionRight(context, verb);
    if (right !== undefined) await access.require(caller, right, signal);
    // The list includes the session of a user who has just logged in.
    if (session !== undefined && cache.isSynced) await cache.waitForWrite(() => cache.get(session) !== undefined, signal);
    return {
      ...(right && { right }),
      scope: () => scopeOf(context, { caller, user, isTimed: verb === 'list' }),
      textOf: session === undefined ? undefined : markCurrent(session),
    };
  };

/** Returns a predicate for the sessions of a user; the caller's own by default. */
export const selectionOf = (context: SessionContext, user: string | undefined, caller: Caller): ((row: SessionRow) => boolean) =>
  isAboutSelf(context, user, caller) ? ownSessions(context, caller) : (row) => row.user === user;

interface Selection {
  caller: Caller;
  user: string | undefined;
  /** Makes the key stand for the valid sessions of one moment. */
  isTimed: boolean;
}

function scopeOf(context: SessionContext, { caller, user, isTimed }: Selection): Scope<SessionRow> {
  const { accounts, accountState, now } = context;
  const belongs = selectionOf(context, user, caller);
  const seconds = Math.floor(now().getTime() / 1000);
  const isValid = (row: SessionRow) => seconds * 1000 < row.idleExpiresAt && accountState.refusalOfRow(row) === undefined;
  const owner = isAboutSelf(context, user, caller) ? [caller.identity.name, ownAccount(accounts, caller)?.uid] : [user];
  return {
    key: JSON.stringify([owner, ...(isTimed ? [seconds] : [])]),
    fits: (row) => belongs(row) && isValid(row),
  };
}
