import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import type { NewSession, Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import { auditSubjectOfSession, type SessionRow } from './record.ts';
import type { SessionStore } from './store.ts';

/** A login exceeds the limit by one session, unless the limit was lowered; the next login ends further sessions. */
const maxEnded = 100;

/** Creates a session of a browser, and ends the oldest sessions of a user who has too many. @throws StatusError 503, 504 */
export async function beginSession(context: SessionContext, ctx: Context, login: NewSession, signal: AbortSignal): Promise<Session> {
  const session = await context.sessions.create(ctx, login, signal);
  await endOldest(context, ctx, session.row, signal);
  return session;
}

/**
 * Keeps the number of sessions of a user within `login.session.maxPerUser`: a new session ends the oldest ones, as a logout does.
 *
 * Sessions are counted after the watch has delivered the new session, and so all sessions that were created before it on any replica. When
 * logins race, the last one sees all sessions. All logins use the same order, which includes the new session: each of them ends only
 * sessions that the last one would end, and the newest sessions remain.
 *
 * Never throws: a login succeeds even if an older session cannot be ended.
 */
export async function endOldest(context: SessionContext, ctx: Context, newest: SessionRow, signal: AbortSignal): Promise<void> {
  const { store, audit, log, config, farewell } = context;
  try {
    const { cache } = store.collection;
    await cache.waitForWrite(() => cache.get(newest.name) !== undefined, signal);
    const oldest = oldestOf(store, newest, config.login.session.maxPerUser);
    if (oldest.length === 0) return;
    const ended: SessionRow[] = [];
    await store.removeAll(oldest, signal, (row) => {
      ended.push(row);
      audit.record({
        ...auditOrigin(ctx),
        ...auditSubjectOfSession(row),
        audit: 'LoggedOut',
        outcome: 'success',
        reason: 'TooManySessions',
      });
    });
    await farewell.endSessions(ctx, ended);
  } catch (error) {
    log.warn({ user: newest.user, err: error }, 'oldest sessions of a user could not be ended');
  }
}

function oldestOf(store: SessionStore, newest: SessionRow, maxPerUser: number): SessionRow[] {
  const all = store.values().filter((row) => isSameUser(row, newest));
  const surplus = Math.max(0, all.length - maxPerUser);
  return all.sort(byAge).slice(0, Math.min(surplus, maxEnded));
}

/** Compares the records, or without a record the user names in Kubernetes. */
const isSameUser = (row: SessionRow, { user, userUID, subjectName }: SessionRow): boolean =>
  row.userUID === userUID && (userUID === undefined ? row.subjectName === subjectName : row.user === user);

/** Orders by age. Times are whole seconds, so the name breaks ties equally on every replica. */
const byAge = (left: SessionRow, right: SessionRow): number => left.createdAt - right.createdAt || (left.name < right.name ? -1 : 1);
