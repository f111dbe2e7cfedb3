import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';
import type { AuditOrigin } from '../http/audit.ts';
import { atMost } from '../http/bound.ts';
import { issuerTimeoutMs } from '../issuer/fetch.ts';
import { FatalRefresh, type RenewedTokens } from '../issuer/types.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { noLongerCounts, revoked } from '../users/record/refused-credential.ts';
import { whoseLogin } from './account-state.ts';
import type { SessionContext } from './context.ts';
import type { LoginFacts } from './login-facts.ts';
import type { SealedLogin } from './refresh-seal.ts';
import { localPayload, type RenewPayload } from './renew-payload.ts';
import { renewedTokensRefusal } from './renewed-tokens.ts';

/** Requests with the same token share one exchange for so long: a page with many requests under way sends them all at once. */
const shareMs = 10_000;
const maxShared = 10_000;
const writeMs = 5_000;

/** Renews tokens for callers who keep them: by a seal, which tells whose login it is before the issuer is asked. */
export class LocalRenewal {
  readonly #context: SessionContext;
  readonly #shared = new LRUCache<string, Promise<RenewPayload>>({ ...atMost(maxShared), ttl: shareMs });

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** @throws StatusError 401 if the login does not count any more, 503 if the issuer was not reached */
  async renew(text: string, sealed: SealedLogin, origin: AuditOrigin, signal: AbortSignal): Promise<RenewPayload> {
    const { accountState } = this.#context;
    await accountState.whenKnown(signal);
    const key = hash('sha256', text);
    const shared = this.#shared.get(key);
    if (shared === undefined) return abortable(this.#begin(key, sealed, origin), signal);
    const payload = await abortable(shared, signal);
    // What was given a moment ago may have been ended since.
    const refusal = accountState.refusalOfLogin(sealed.login, sealed.issuer);
    if (refusal !== undefined) throw refusal;
    return payload;
  }

  #begin(key: string, sealed: SealedLogin, origin: AuditOrigin): Promise<RenewPayload> {
    const renewing = this.#audited(sealed.login, origin, this.#renew(sealed));
    this.#shared.set(key, renewing);
    // What failed may be tried again at once.
    renewing.catch(() => this.#shared.delete(key));
    return renewing;
  }

  /** Goes on when the caller goes away, or the tokens that the issuer has given would be lost to all who share them. */
  async #renew(sealed: SealedLogin): Promise<RenewPayload> {
    const { seals, accountState, revokedTokens, now } = this.#context;
    const { login, issuer, refreshToken, bearers, learnt = {} } = sealed;
    const deadline = AbortSignal.timeout(issuerTimeoutMs);
    await accountState.whenCaughtUp({ ...login, createdAt: login.at * 1000 }, deadline);
    const seconds = now().getTime() / 1000;
    // Neither can come back, so nothing needs to be written.
    if (revokedTokens.hasLogin(login.id) || seconds >= login.expiresAt) throw noLongerCounts(revoked);
    const refusal = accountState.refusalOfLogin(login, issuer);
    if (refusal !== undefined) return this.#end(sealed, refreshToken, refusal);
    if (refreshToken === undefined) throw notRenewable();
    let tokens: RenewedTokens;
    try {
      tokens = await abortable(issuer.tokens.renew(refreshToken, { iss: login.iss, sub: login.sub, learnt }, deadline), deadline);
    } catch (error) {
      if (error instanceof FatalRefresh) return this.#end(sealed, error.refreshToken, refusedBy(error));
      throw error instanceof StatusError ? error : serviceUnavailable('identity provider', { cause: error });
    }
    const late = accountState.refusalOfLogin(login, issuer) ?? (await renewedTokensRefusal(this.#context, sealed, tokens, deadline));
    if (late !== undefined) return this.#end(sealed, tokens.refreshToken, late);
    const end = tokens.bearerExpiresAt ?? Math.max(0, ...bearers.map(({ exp }) => exp));
    if (end <= seconds) return this.#end(sealed, tokens.refreshToken, nothingUsable());
    try {
      const handedOut = issuer.bearers.handOut({ ...tokens, bearerExpiresAt: end });
      return localPayload(handedOut, await seals.write(sealed, handedOut, bearers));
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) return this.#end(sealed, tokens.refreshToken, error);
      throw error;
    }
  }

  /** Never returns. The login is over, with all seals of it: the next request with one asks the issuer nothing. */
  async #end({ login, issuer }: SealedLogin, refreshToken: string | undefined, error: StatusError): Promise<never> {
    const { revokedTokens, log } = this.#context;
    const ended = { ...login, expiresAt: new Date(login.expiresAt * 1000) };
    await revokedTokens.endLogin(ended, AbortSignal.timeout(writeMs)).catch((failure: unknown) => {
      log.warn({ err: failure }, 'the end of a login could not be recorded');
    });
    if (refreshToken !== undefined) await issuer.discard(refreshToken);
    throw error;
  }

  async #audited(login: LoginFacts, origin: AuditOrigin, renewing: Promise<RenewPayload>): Promise<RenewPayload> {
    const { audit } = this.#context;
    const who = { ...origin, ...whoseLogin(login) };
    try {
      const payload = await renewing;
      audit.record({ ...who, audit: 'TokenRefreshed', outcome: 'success' });
      return payload;
    } catch (error) {
      const { code, reason } = error instanceof StatusError ? error.status : {};
      audit.record({ ...who, audit: 'RefreshFailed', outcome: 'failure', ...(code && { code }), ...(reason && { reason }) });
      throw error;
    }
  }
}

function refusedBy(cause: FatalRefresh): StatusError {
  const refused = unauthorized({ tokenGiven: true });
  refused.cause = cause;
  return refused;
}

const notRenewable = (): StatusError =>
  unauthorized({ tokenGiven: true, message: 'the identity provider gave nothing to renew these tokens with: log in again' });

const nothingUsable = (): StatusError =>
  unauthorized({
    tokenGiven: true,
    message: 'the identity provider gave no token that counts here: log in again, with token_storage=cookie if that is offered',
  });
