import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { StatusError } from '../api/status.ts';
import { type AuditOrigin, auditOrigin } from '../http/audit.ts';
import { abortable } from '../kubernetes/deadline.ts';
import { atMost } from '../limits/bound.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import { type GivenProof, type ProvenSession, proofOf } from './proof.ts';
import { whoseSession } from './record.ts';
import type { SealedLogin } from './refresh-seal.ts';
import { type GivenTokens, type RenewPayload, sessionPayload } from './renew-payload.ts';
import type { SessionRenewal } from './renewal.ts';
import { SealedCarrier } from './sealed-carrier.ts';
import { auditFailedRefresh, renewTokens } from './token-renewer.ts';

/** Time in which requests with the same token share one exchange: a page with many requests in flight sends them all at once. */
const shareMs = 10_000;
const maxShared = 10_000;

/** Renews tokens for clients that store them. The seal names the login before the issuer is asked. */
export class LocalRenewal {
  readonly #context: SessionContext;
  readonly #shared = new LRUCache<string, Promise<RenewPayload>>({ ...atMost(maxShared), ttl: shareMs });

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** @throws StatusError 401 if the login is no longer valid, 503 if the issuer cannot be reached */
  async renew(text: string, sealed: SealedLogin, origin: AuditOrigin, signal: AbortSignal): Promise<RenewPayload> {
    const { accountState } = this.#context;
    await accountState.whenKnown({ signal });
    const key = hash('sha256', text);
    const shared = this.#shared.get(key);
    if (shared === undefined) return abortable(this.#begin(key, sealed, origin), signal);
    const payload = await abortable(shared, signal);
    // The login may have ended since the shared exchange.
    const refusal = accountState.refusalOfLogin(sealed.login, sealed.issuer);
    if (refusal !== undefined) throw refusal;
    return payload;
  }

  /** Continues when the caller disconnects, or the new tokens would be lost to all requests that share the exchange. */
  #begin(key: string, sealed: SealedLogin, origin: AuditOrigin): Promise<RenewPayload> {
    const renewing = renewTokens(this.#context, new SealedCarrier(this.#context, sealed), origin);
    this.#shared.set(key, renewing);
    // A failed renewal may be repeated at once.
    renewing.catch(() => this.#shared.delete(key));
    return renewing;
  }
}

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
  auditFailedRefresh(context, { ...auditOrigin(ctx), ...whoseSession(row) }, error);
  throw error;
}
