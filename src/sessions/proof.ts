import { timingSafeEqual } from 'node:crypto';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import type { SealedLogin } from './sealed-refresh-tokens.ts';

/** Time in which a replaced handle remains valid for requests in flight. */
const previousHandleMs = 10_000;
/** Clock skew between replicas. */
const leewayMs = 60_000;

export interface ProvenSession {
  session: Session;
  /** False for the previous handle, which remains valid for a moment. */
  isCurrent: boolean;
}

/** Proof in a request: the secret of the cookie, if any, and the parameter `refresh_token`. */
export interface GivenProof {
  secret: string | undefined;
  refreshToken: string;
}

/**
 * Returns the login that a request for renewal or logout has proof of: the session of its cookie with the handle, otherwise a seal. Failed
 * proofs count in `login.perMinute`.
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
      // The session of the cookie has ended, which does not affect tokens that the caller stores.
      sessions.expireCookie(ctx, secret);
    }
  } else if (!isLocalOffered) throw badParameter('refresh_token', 'is the handle of a session, and its cookie was not sent');
  const sealed = await seals.open(refreshToken);
  if (sealed !== undefined) return { sealed };
  if (secret === undefined) limit.require(ctx.state.source);
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
  const { source, signal } = ctx.state;
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

/** Compares in constant time. */
function isEqual(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Reports whether the handle is the previous one and still valid. The time counts from when this replica first saw the replacement, because
 * clocks differ, and also from when it was written: otherwise the handle would be valid again after each restart.
 */
function isPrevious(handle: string, { row, secrets: { previous } }: Session, { now, clock }: SessionContext): boolean {
  if (previous === undefined || clock() - row.sealedSeenAt >= previousHandleMs) return false;
  return now().getTime() - previous.replacedAt < previousHandleMs + leewayMs && isEqual(handle, previous.handle);
}
