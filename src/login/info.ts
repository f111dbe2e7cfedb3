import { LRUCache } from 'lru-cache';
import { StatusError } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import { atMost } from '../http/bound.ts';
import type { Bearer, Identity } from '../http/operation.ts';
import { type ClaimRules, completed, identityOf, isIncomplete } from '../issuer/claims.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { TokenVerifier } from '../issuer/token-verifier.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { Person } from './user-info.ts';

export interface InfoOptions {
  /** Undefined without a login: then there are only tokens of others. */
  login?: { sessions: Sessions; verifier: TokenVerifier; issuer: Issuer; rules: ClaimRules; accounts: AccountLookup };
  /** Asks the API server. */
  identify: Authenticator['identify'];
}

const maxKept = 10_000;

/** Who a caller is (docs/contract/login.md). */
export class Info {
  readonly #options: InfoOptions;
  /** By the token's hash: what the userinfo endpoint has added to its claims. */
  readonly #completed = new LRUCache<string, VerifiedClaims>(atMost(maxKept));

  constructor(options: InfoOptions) {
    this.#options = options;
  }

  /** @throws StatusError 401, 503, 504 */
  async of(bearer: Bearer, signal: AbortSignal): Promise<Person> {
    const { login } = this.#options;
    const known = bearer.session === undefined ? await this.#ofToken(bearer, signal) : await this.#ofSession(bearer.session);
    const identity = bearer.actAs ?? (await this.#identify(bearer, known.claims, signal));
    return { ...known, identity, account: bearer.user === undefined ? undefined : login?.accounts.get(bearer.user) };
  }

  async #ofSession(name: string): Promise<Omit<Person, 'identity'>> {
    const session = await this.#options.login?.sessions.current(name);
    if (session === undefined) return {};
    const { tokens } = session.secrets;
    return { claims: tokens.claims, tokenStorage: 'cookie', expiresAt: tokens.bearerExpiresAt };
  }

  async #ofToken(bearer: Bearer, signal: AbortSignal): Promise<Omit<Person, 'identity'>> {
    const verified = await this.#options.login?.verifier.bearer(bearer.token);
    if (verified === undefined || verified === 'not ours') return {};
    const claims = verified.isAccessToken ? await this.#complete(bearer, verified.claims, signal) : verified.claims;
    return { claims, tokenStorage: 'local', expiresAt: claims.exp };
  }

  /** What an access token does not say is asked once at the userinfo endpoint; while that is out of reach it is left out. */
  async #complete({ token, hash }: Bearer, claims: VerifiedClaims, signal: AbortSignal): Promise<VerifiedClaims> {
    const { login } = this.#options;
    if (login === undefined || !isIncomplete(claims, login.rules)) return claims;
    const known = this.#completed.get(hash);
    if (known !== undefined) return known;
    try {
      const info = await login.issuer.userInfo(token, claims.sub, signal);
      const whole = completed(claims, info ?? {}, login.rules);
      this.#completed.set(hash, whole);
      return whole;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 503) return claims;
      throw error;
    }
  }

  /** The API server's word; the claims' while it is out of reach. */
  async #identify(bearer: Bearer, claims: VerifiedClaims | undefined, signal: AbortSignal): Promise<Identity> {
    const { identify, login } = this.#options;
    try {
      return (await identify(bearer, signal)).identity;
    } catch (error) {
      const isOutOfReach = error instanceof StatusError && error.status.code >= 500;
      if (!isOutOfReach || claims === undefined || login === undefined) throw error;
      return identityOf(claims, login.rules);
    }
  }
}
