import { hash } from 'node:crypto';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { FatalRefresh, RenewedTokens } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { type AuditOrigin, auditOrigin } from '../audit/audit.ts';
import type { Issuer } from '../issuer/issuer.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import { auditSubjectOfLogin, type LoginFacts } from './login-facts.ts';
import { type GivenProof, type ProvenSession, proofOf } from './proof.ts';
import { auditSubjectOfSession } from './record.ts';
import type { SessionRenewal } from './renewal.ts';
import { type GivenTokens, localPayload, type RenewPayload, sessionPayload } from './schema.ts';
import type { SealedLogin } from './sealed-refresh-tokens.ts';
import { auditFailedRefresh, renewTokens, type TokenCarrier } from './token-renewer.ts';

type RefreshHandler = (ctx: Context, given: GivenTokens) => Promise<RenewPayload>;

interface Renewals {
  renewal: SessionRenewal;
  local: LocalRenewal;
}

/** Returns the handler that renews tokens on demand (docs/contract/login.md). @throws StatusError 400, 401, 403, 429, 503 */
export function tokenRefresh(context: SessionContext, renewal: SessionRenewal): RefreshHandler {
  const renewals = { renewal, local: new LocalRenewal(context) };
  return (ctx, given) => refresh(context, renewals, ctx, given);
}

/** Renews tokens of the session of the cookie, otherwise of a caller who stores tokens. */
async function refresh(
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
  await accountState.whenReady({ signal });
  await accountState.requireRecord(session.row, signal);
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

/** Time in which requests with the same token share one exchange: a page with many requests in flight sends them all at once. */
const shareMs = 10_000;
const maxShared = 10_000;

/** Renews tokens for clients that store them. The seal names the login before the issuer is asked. */
class LocalRenewal {
  readonly #context: SessionContext;
  readonly #shared = new LRUCache<string, Promise<RenewPayload>>({ ...atMost(maxShared), ttl: shareMs, ttlAutopurge: true });

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** @throws StatusError 401 if the login is no longer valid, 503 if the issuer cannot be reached */
  async renew(text: string, sealed: SealedLogin, origin: AuditOrigin, signal: AbortSignal): Promise<RenewPayload> {
    const { accountState } = this.#context;
    await accountState.whenReady({ signal });
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

const writeMs = 5_000;

/** A seal as the carrier of the tokens of a client that stores them. */
class SealedCarrier implements TokenCarrier<RenewedTokens, RenewPayload> {
  readonly login: LoginFacts;
  readonly issuer: Issuer;
  readonly refreshToken: string | undefined;
  readonly auditSubject: ReturnType<typeof auditSubjectOfLogin>;
  readonly #context: SessionContext;
  readonly #sealed: SealedLogin;

  constructor(context: SessionContext, sealed: SealedLogin) {
    this.#context = context;
    this.#sealed = sealed;
    this.login = sealed.login;
    this.issuer = sealed.issuer;
    this.refreshToken = sealed.refreshToken;
    this.auditSubject = auditSubjectOfLogin(sealed.login);
  }

  /** Both ends are permanent, and need no record. */
  isOver(): boolean {
    return this.#context.revokedTokens.hasLogin(this.login.id) || this.#seconds() >= this.login.expiresAt;
  }

  async exchange(deadline: AbortSignal): Promise<RenewedTokens> {
    const { iss, sub } = this.login;
    if (this.refreshToken === undefined) throw notRenewable();
    return this.issuer.tokens.renew(this.refreshToken, { iss, sub, learnt: this.#sealed.learnt ?? {} }, deadline);
  }

  refused(cause: FatalRefresh): StatusError {
    const refused = unauthorized({ tokenGiven: true });
    refused.cause = cause;
    return refused;
  }

  async keep(tokens: RenewedTokens): Promise<RenewPayload> {
    const { bearers } = this.#sealed;
    const bearerExpiresAt = tokens.bearerExpiresAt ?? Math.max(0, ...bearers.map(({ exp }) => exp));
    if (bearerExpiresAt <= this.#seconds()) throw noUsableToken();
    const handedOut = this.issuer.bearers.handOut({ ...tokens, bearerExpiresAt });
    return localPayload(handedOut, await this.#context.seals.write(this.#sealed, handedOut, bearers));
  }

  /** Ends all seals of the login: a later request with one of them makes no call to the issuer. */
  async end(): Promise<void> {
    const { endAccess, log } = this.#context;
    const ended = { ...this.login, expiresAt: new Date(this.login.expiresAt * 1000) };
    await endAccess({ login: ended }, 'RefreshFailed', AbortSignal.timeout(writeMs)).catch((failure: unknown) => {
      log.warn({ err: failure }, 'end of a login could not be recorded');
    });
  }

  /** No other replica waits for a seal. */
  async release(): Promise<void> {}

  #seconds(): number {
    return this.#context.now().getTime() / 1000;
  }
}

const notRenewable = (): StatusError =>
  unauthorized({ tokenGiven: true, message: 'the identity provider issued no refresh token: log in again' });

const noUsableToken = (): StatusError =>
  unauthorized({
    tokenGiven: true,
    message: 'the identity provider gave no valid token: log in again, with token_storage=cookie if that is offered',
  });
