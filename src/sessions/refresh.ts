import type { Context } from 'koa';
import { StatusError } from '../api/status.ts';
import { auditOrigin } from '../http/audit.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import type { LocalRenewal } from './local-renewal.ts';
import { type GivenProof, type ProvenSession, proofOf } from './proof.ts';
import { auditSubjectOfSession } from './record.ts';
import { type GivenTokens, type RenewPayload, sessionPayload } from './renew-payload.ts';
import type { SessionRenewal } from './renewal.ts';
import { auditFailedRefresh } from './token-renewer.ts';

interface Renewals {
  renewal: SessionRenewal;
  local: LocalRenewal;
}

/**
 * Renews tokens on demand (docs/contract/login.md): of the session of the cookie, otherwise of a caller who stores tokens.
 *
 * @throws StatusError 400, 401, 403, 429, 503
 */
export async function refresh(
  context: SessionContext,
  { renewal, local }: Renewals,
  ctx: Context,
  { refresh_token: refreshToken }: GivenTokens,
): Promise<RenewPayload> {
  const { cookie } = context;
  const { signal } = ctx.state;
  const secret = cookie.read(ctx);
  try {
    const proof = await auditedProof(context, ctx, { secret, refreshToken });
    if ('sealed' in proof) return await local.renew(refreshToken, proof.sealed, auditOrigin(ctx), signal);
    return sessionPayload((await refreshSession(context, renewal, ctx, proof)).secrets);
  } catch (error) {
    if (secret !== undefined && error instanceof StatusError && error.status.code === 401) context.sessions.expireCookie(ctx, secret);
    throw error;
  }
}

async function auditedProof(context: SessionContext, ctx: Context, given: GivenProof): ReturnType<typeof proofOf> {
  try {
    return await proofOf(context, ctx, given);
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 401) auditFailedRefresh(context, auditOrigin(ctx), error);
    throw error;
  }
}

async function refreshSession(
  context: SessionContext,
  renewal: SessionRenewal,
  ctx: Context,
  { session, isCurrent }: ProvenSession,
): Promise<Session> {
  const { accountState, now } = context;
  const { signal } = ctx.state;
  await accountState.whenKnown({ signal });
  await accountState.whenCaughtUp(session.row, signal);
  const refusal = accountState.refusalOfSession(session);
  if (refusal !== undefined) return end(context, ctx, session, refusal);
  if (!isCurrent) return session;
  const { refreshToken, bearerExpiresAt } = session.secrets.tokens;
  if (refreshToken !== undefined) return renewal.renew(session, signal, auditOrigin(ctx));
  // Without a refresh token, the tokens remain valid until they expire.
  if (now().getTime() / 1000 < bearerExpiresAt) return session;
  return end(context, ctx, session, sessionEnded());
}

/** Ends a session that cannot be renewed, and throws `error`. */
async function end(context: SessionContext, ctx: Context, session: Session, error: StatusError): Promise<never> {
  const { sessions, issuers } = context;
  const { row, secrets } = session;
  await sessions.end(session, ctx.state.signal);
  await issuers.discard(secrets.login, secrets.tokens.refreshToken);
  auditFailedRefresh(context, { ...auditOrigin(ctx), ...auditSubjectOfSession(row) }, error);
  throw error;
}
