import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { badParameter } from '../api/status.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import { stateOf } from '../http/router.ts';
import { sessionEnded } from './account-state.ts';
import type { CrossSiteRule } from './cross-site.ts';
import type { Session, Sessions } from './sessions.ts';

/** A handle that was replaced counts so much longer: requests under way still carry it. */
const previousHandleMs = 10_000;
/** Replicas may disagree so much about the time. */
const leewayMs = 60_000;

export interface SessionProofOptions {
  sessions: Sessions;
  crossSite: CrossSiteRule;
  /** Counts those who come with a session that is none. */
  limit: RateLimit;
  now: () => Date;
  /** Milliseconds that only ever grow. */
  clock: () => number;
}

export interface ProvenSession {
  session: Session;
  /** Whether the handle is the current one, and not the one before, which counts a moment longer. */
  isCurrent: boolean;
}

/** What came with a request: the secret of the cookie, and what the interface calls `refresh_token`. */
export interface SessionPair {
  secret: string;
  handle: string;
}

/**
 * The session of a request that renews or ends it: its own page has made the request, and knows the handle.
 *
 * @throws StatusError 401 without such a session, 400 for a handle that is not its, which ends nothing; 403, 429, 503
 */
export async function provenSession(ctx: Context, { secret, handle }: SessionPair, options: SessionProofOptions): Promise<ProvenSession> {
  const { sessions, crossSite, limit } = options;
  const { source, signal } = stateOf(ctx);
  crossSite.checkProven(ctx);
  const session = await sessions.find(secret, source, signal, true);
  if (session === undefined) {
    limit.require(source);
    throw sessionEnded();
  }
  if (isEqual(handle, session.secrets.handle)) return { session, isCurrent: true };
  if (isPrevious(handle, session, options)) return { session, isCurrent: false };
  throw badParameter('refresh_token', 'is not that of this session');
}

/** In a time that tells nothing. */
function isEqual(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** By when it was seen here, as clocks differ; by when it was written too, or it would count again after each restart. */
function isPrevious(handle: string, { row, secrets: { previous } }: Session, { now, clock }: SessionProofOptions): boolean {
  if (previous === undefined || clock() - row.sealedSeenAt >= previousHandleMs) return false;
  return now().getTime() - previous.replacedAt < previousHandleMs + leewayMs && isEqual(handle, previous.handle);
}
