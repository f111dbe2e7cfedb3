import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AuditOrigin } from '../http/audit.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { atMost } from '../limits/bound.ts';
import type { SessionContext } from './context.ts';
import type { SealedLogin } from './refresh-seal.ts';
import type { RenewPayload } from './renew-payload.ts';
import { SealedCarrier } from './sealed-carrier.ts';
import { renewTokens } from './token-renewer.ts';

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
    await accountState.whenKnown(signal);
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
