import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { badParameter, StatusError } from '../api/status.ts';
import { stateOf } from '../http/request-state.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import type { SealedLogin } from './refresh-seal.ts';

/** A handle that was replaced counts so much longer: requests under way still carry it. */
const previousHandleMs = 10_000;
/** Replicas may disagree so much about the time. */
const leewayMs = 60_000;

export interface ProvenSession {
  session: Session;
  /** Whether the handle is the current one, and not the one before, which counts a moment longer. */
  isCurrent: boolean;
}

/** What came with a request: the secret of the cookie, if it has one, and what the interface calls `refresh_token`. */
export interface GivenProof {
  secret: string | undefined;
  refreshToken: string;
}

/**
 * What a request that renews or ends a login proves to hold: the session of its cookie with the handle, or else a seal. What is neither
 * costs no call upstream. Only such requests count in `login.perMinute`.
 *
 * @throws StatusError 400, 401, 403, 429, 503
 */
export async function proofOf(
  context: SessionContext,
  ctx: Context,
  { secret, refreshToken }: GivenProof,
): Promise<ProvenSession | { sealed: SealedLogin }> {
  const { config, seals, sessions, limit } = context;
  const isLocalOffered = config.login.tokenStorage.includes('local');
  if (secret !== undefined) {
    try {
      return await provenSession(context, ctx, secret, refreshToken);
    } catch (error) {
      if (!isLocalOffered || !(error instanceof StatusError) || error.status.code !== 401) throw error;
      // The cookie is one of a session that has ended; it says nothing about tokens that the caller keeps.
      sessions.expireCookie(ctx, secret);
    }
  } else if (!isLocalOffered) throw badParameter('refresh_token', 'is the handle of a session, and its cookie was not sent');
  const sealed = await seals.open(refreshToken);
  if (sealed !== undefined) return { sealed };
  if (secret === undefined) limit.require(stateOf(ctx).source);
  throw sessionEnded();
}

/**
 * Finds the session of the request's cookie and checks that the caller knows its handle. A handle that this replica does not know may come
 * from a renewal at another replica, so the session is read from the API server before the handle is refused; such requests count in
 * `login.perMinute`.
 *
 * @throws StatusError 401 without such a session, 400 for a handle of another session, which ends nothing; 403, 429, 503, 504
 */
async function provenSession(context: SessionContext, ctx: Context, secret: string, handle: string): Promise<ProvenSession> {
  const { sessions, crossSite, limit } = context;
  const { source, signal } = stateOf(ctx);
  crossSite.checkProven(ctx);
  const session = await sessions.find(secret, source, signal, true);
  const proven = session && provenBy(handle, session, context);
  if (proven !== undefined) return proven;
  limit.require(source);
  const latest = session && (await sessions.latest(session, signal));
  if (latest === undefined) throw sessionEnded();
  const provenLater = provenBy(handle, latest, context);
  if (provenLater === undefined) throw badParameter('refresh_token', 'is not that of this session');
  return provenLater;
}

function provenBy(handle: string, session: Session, context: SessionContext): ProvenSession | undefined {
  if (isEqual(handle, session.secrets.handle)) return { session, isCurrent: true };
  return isPrevious(handle, session, context) ? { session, isCurrent: false } : undefined;
}

/** In a time that tells nothing. */
function isEqual(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** By when it was seen here, as clocks differ; by when it was written too, or it would count again after each restart. */
function isPrevious(handle: string, { row, secrets: { previous } }: Session, { now, clock }: SessionContext): boolean {
  if (previous === undefined || clock() - row.sealedSeenAt >= previousHandleMs) return false;
  return now().getTime() - previous.replacedAt < previousHandleMs + leewayMs && isEqual(handle, previous.handle);
}
