import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import type { LogoutClaims } from '@atrium/oidc-client/token-verifier.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { type IssuerLogin, issuerLoginOf, sessionless } from '../issuer/login.ts';
import type { SessionContext } from './context.ts';
import { auditSubjectOfSession, type SessionRow } from './record.ts';

/** Maximum of sessions that one logout token deletes. The sweeper deletes the others, which are invalid too. */
const maxDeleted = 500;
const deletionMs = 5_000;
/** Maximum of sessions to unseal: sessions of an older release name the issuer's session only in their sealed part. */
const maxOpened = 500;

/**
 * Ends the logins that the issuer has ended (OpenID Connect Back-Channel Logout 1.0). A single object records the end: from then on the
 * sessions and tokens are invalid on every replica, even if a later step fails.
 *
 * @param refusals counts logout tokens that are refused
 * @throws StatusError 400 for a token that is invalid or was used before; 429, 503, 504
 */
export async function receiveLogout(
  context: SessionContext,
  refusals: RateLimit,
  ctx: Context,
  logoutToken: string,
  signal: AbortSignal,
): Promise<void> {
  const { source } = auditOrigin(ctx);
  refusals.requireRoom(source);
  const refuse = (cause: unknown): StatusError => {
    refusals.take(source);
    // The reason is only logged: a legitimate sender knows the form of logout tokens.
    context.log.info({ source, reason: cause instanceof Error ? cause.message : cause }, 'logout token refused');
    return badParameter('logout_token', 'is not a logout token for this service that has not been used yet');
  };
  const claims = await context.issuers.logoutToken(logoutToken).catch((error: unknown) => {
    throw error instanceof StatusError && error.status.code === 401 ? refuse(error.cause) : error;
  });
  const ended = issuerLoginOf(claims);
  if (!(await recordEnd(context, claims, ended, signal))) throw refuse('the token was used before');
  await deleteSessions(context, ctx, ended);
}

/**
 * Records the end of the named session, and of the user's sessions that have no `sid`: any of them may be the named one. A token without
 * `sid` ends all sessions of the user (section 2.7).
 *
 * @returns false if that token was used before
 */
async function recordEnd(
  { endAccess, config, now }: SessionContext,
  { iss, jti, iat }: LogoutClaims,
  { sid, sub }: IssuerLogin,
  signal: AbortSignal,
): Promise<boolean> {
  // Clocks may differ: tokens have the time of the issuer, sessions the time of the service.
  const seconds = Math.floor(Math.max(now().getTime() / 1000, iat)) + 1;
  const notBefore = new Date(seconds * 1000);
  // No earlier session lasts longer.
  const expiresAt = new Date(seconds * 1000 + config.login.session.absolute);
  const record = (id: string, session: string) =>
    endAccess({ issuerLogout: { iss, jti: id, session, notBefore, expiresAt } }, 'IssuerLogout', signal);
  // The last write marks the token as used: the issuer may send it again until then.
  if (sid !== undefined && sub !== undefined) await record(`${jti}\0sessionless`, sessionless(sub));
  return record(jti, sid ?? sub ?? '');
}

async function deleteSessions(context: SessionContext, ctx: Context, ended: IssuerLogin): Promise<void> {
  const { store, audit, log } = context;
  // Deletions continue when the issuer disconnects.
  const signal = AbortSignal.timeout(deletionMs);
  const event = { ...auditOrigin(ctx), audit: 'LoggedOut', outcome: 'success', code: 200, reason: 'BackChannel' } as const;
  try {
    const rows = await sessionsOf(context, ended);
    await store.removeAll(rows.slice(0, maxDeleted), signal, (row) => audit.record({ ...event, ...auditSubjectOfSession(row) }));
  } catch (error) {
    log.warn({ err: error }, 'sessions ended by the identity provider could not be deleted, retrying');
  }
}

async function sessionsOf({ store, sessions }: SessionContext, ended: IssuerLogin): Promise<SessionRow[]> {
  const rows = store.values();
  const unnamed: SessionRow[] = [];
  for (const row of rows.filter(({ login }) => login === undefined).slice(0, maxOpened)) {
    const session = await sessions.unseal(row);
    if (session !== undefined && isSame(session.secrets.login.issuerLogin, ended)) unnamed.push(row);
  }
  return [...rows.filter(({ login }) => login !== undefined && isSame(login, ended)), ...unnamed];
}

function isSame(login: IssuerLogin, { sid, sub }: IssuerLogin): boolean {
  const isOfUser = sub !== undefined && login.sub === sub;
  return sid === undefined || login.sid === undefined ? isOfUser : login.sid === sid;
}
