import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import type { LogoutClaims } from '@atrium/oidc-client/token-verifier.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { type IssuerLogin, issuerLoginOf } from '../issuer/login.ts';
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
  const login = issuerLoginOf(claims);
  // A token with `sid` ends that session only, even if it also names the user (section 2.4).
  const ended: IssuerLogin = login.sid === undefined ? login : { sid: login.sid, sub: undefined };
  if (!(await recordEnd(context, claims, ended, signal))) throw refuse('the token was used before');
  await deleteSessions(context, ctx, ended);
}

/** @returns false if that token was used before */
function recordEnd(
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
  return endAccess({ issuerLogout: { iss, jti, session: sid ?? sub ?? '', notBefore, expiresAt } }, 'IssuerLogout', signal);
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

const isSame = (login: IssuerLogin, { sid, sub }: IssuerLogin): boolean => (sid === undefined ? login.sub === sub : login.sid === sid);
