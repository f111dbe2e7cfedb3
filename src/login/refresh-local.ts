import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { noLongerCounts, revoked } from '../accounts/refused-credential.ts';
import type { Audit, AuditOrigin } from '../http/audit.ts';
import { atMost } from '../http/bound.ts';
import type { Identity } from '../http/operation.ts';
import { StatusError, serviceUnavailable, unauthorized } from '../http/status.ts';
import { abortable } from './abortable.ts';
import type { AccountState } from './account-state.ts';
import { issuerTimeoutMs } from './issuer-fetch.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import { FatalRefresh, type RenewedTokens, type VerifiedClaims } from './types.ts';

/** Requests with the same token share one exchange for so long: a page with many requests under way sends them all at once. */
const shareMs = 10_000;
const maxShared = 10_000;

export interface LocalRenewalOptions {
  /** @throws FatalRefresh, StatusError 503 */
  exchange: (refreshToken: string, signal: AbortSignal) => Promise<RenewedTokens>;
  identityOf: (claims: VerifiedClaims) => Identity;
  loginOf: (claims: VerifiedClaims) => string | undefined;
  accountState: AccountState;
  revokedTokens: RevokedTokens;
  /** Ends tokens at the issuer; never throws. */
  discard: (refreshToken: string) => Promise<void>;
  audit: Audit;
}

/** Renews tokens for those who keep them themselves. */
export class LocalRenewal {
  readonly #options: LocalRenewalOptions;
  readonly #shared = new LRUCache<string, Promise<RenewedTokens>>({ ...atMost(maxShared), ttl: shareMs });

  constructor(options: LocalRenewalOptions) {
    this.#options = options;
  }

  /** @throws StatusError 401 if the token does not count any more, 503 if the issuer was not reached */
  async renew(refreshToken: string, origin: AuditOrigin, signal: AbortSignal): Promise<RenewedTokens> {
    const { accountState, revokedTokens } = this.#options;
    await accountState.whenKnown(signal);
    if (revokedTokens.has(refreshToken)) throw noLongerCounts(revoked);
    const key = hash('sha256', refreshToken);
    const shared = this.#shared.get(key)?.then((tokens) => this.#stillGood(tokens));
    return abortable(shared ?? this.#begin(key, refreshToken, origin), signal);
  }

  #begin(key: string, refreshToken: string, origin: AuditOrigin): Promise<RenewedTokens> {
    const renewing = this.#audited(origin, this.#renew(refreshToken));
    this.#shared.set(key, renewing);
    // What failed may be tried again at once.
    renewing.catch(() => this.#shared.delete(key));
    return renewing;
  }

  /** What was given a moment ago may have been ended since. */
  async #stillGood(tokens: RenewedTokens): Promise<RenewedTokens> {
    const { revokedTokens } = this.#options;
    const isRevoked = [tokens.refreshToken, tokens.bearer].some((token) => token !== undefined && revokedTokens.has(token));
    const refusal = isRevoked ? noLongerCounts(revoked) : await this.#refusal(tokens);
    if (refusal !== undefined) throw refusal;
    return tokens;
  }

  /** Goes on when the one who asked goes away, or the tokens that the issuer has given would be lost to all who share them. */
  async #renew(refreshToken: string): Promise<RenewedTokens> {
    const { exchange, discard, revokedTokens } = this.#options;
    let tokens: RenewedTokens;
    try {
      const deadline = AbortSignal.timeout(issuerTimeoutMs);
      tokens = await abortable(exchange(refreshToken, deadline), deadline);
    } catch (error) {
      if (!(error instanceof FatalRefresh))
        throw error instanceof StatusError ? error : serviceUnavailable('identity provider', { cause: error });
      if (error.refreshToken !== undefined) await discard(error.refreshToken);
      const refused = unauthorized({ tokenGiven: true });
      refused.cause = error;
      throw refused;
    }
    // Somebody may have logged out in the meantime.
    const refusal = revokedTokens.has(refreshToken) ? noLongerCounts(revoked) : await this.#refusal(tokens);
    if (refusal === undefined) return tokens;
    await discard(tokens.refreshToken);
    throw refusal;
  }

  /** Whose tokens they are only the tokens tell; where they do not, they are judged when they are used. */
  async #refusal({ claims }: RenewedTokens): Promise<StatusError | undefined> {
    if (claims === undefined) return undefined;
    const { identityOf, loginOf, accountState } = this.#options;
    try {
      const owner = { subjectName: identityOf(claims).name, issuedAt: claims.iat, login: loginOf(claims), claims };
      return await accountState.refusalOfRenewal(owner, AbortSignal.timeout(issuerTimeoutMs));
    } catch (error) {
      if (error instanceof StatusError) return error;
      throw error;
    }
  }

  async #audited(origin: AuditOrigin, renewing: Promise<RenewedTokens>): Promise<RenewedTokens> {
    const { audit, identityOf } = this.#options;
    try {
      const tokens = await renewing;
      const actor = tokens.claims && { name: identityOf(tokens.claims).name, uid: tokens.claims.sub };
      audit.record({ ...origin, audit: 'TokenRefreshed', outcome: 'success', ...(actor && { actor }) });
      return tokens;
    } catch (error) {
      const { code, reason } = error instanceof StatusError ? error.status : {};
      audit.record({ ...origin, audit: 'RefreshFailed', outcome: 'failure', ...(code && { code }), ...(reason && { reason }) });
      throw error;
    }
  }
}
