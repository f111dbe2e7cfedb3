import { LRUCache } from 'lru-cache';
import { StatusError } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Bearer, Identity } from '../http/operation.ts';
import { completed, isIncomplete } from '../issuer/claims.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import { atMost } from '../limits/bound.ts';
import type { SessionContext } from '../sessions/context.ts';
import type { Person } from './user-info.ts';

const maxKept = 10_000;

/** Identifies callers (docs/contract/login.md). */
export class Info {
  readonly #identifyBearer: Authenticator['identify'];
  readonly #login: SessionContext | undefined;
  /** Logins with the claims of the userinfo endpoint, by hash of the token. */
  readonly #completed = new LRUCache<string, VerifiedLogin>(atMost(maxKept));

  /** @param login undefined if no login is configured: then all tokens are verified by the API server alone */
  constructor(identify: Authenticator['identify'], login: SessionContext | undefined) {
    this.#identifyBearer = identify;
    this.#login = login;
  }

  /** @throws StatusError 401, 503, 504 */
  async of(bearer: Bearer, signal: AbortSignal): Promise<Person> {
    const known = bearer.session === undefined ? await this.#ofToken(bearer, signal) : await this.#ofSession(bearer.session);
    const identity = bearer.actAs ?? (await this.#identify(bearer, known.login, signal));
    return { ...known, identity, account: bearer.user === undefined ? undefined : this.#login?.accounts.get(bearer.user) };
  }

  async #ofSession(name: string): Promise<Omit<Person, 'identity'>> {
    const session = await this.#login?.sessions.current(name);
    if (session === undefined) return {};
    return { login: session.verified, tokenStorage: 'cookie', expiresAt: session.secrets.tokens.bearerExpiresAt };
  }

  async #ofToken(bearer: Bearer, signal: AbortSignal): Promise<Omit<Person, 'identity'>> {
    const verified = await this.#login?.issuers.bearer(bearer.token);
    if (verified === undefined || verified === 'not ours') return {};
    const login = verified.isAccessToken ? await this.#complete(bearer, verified.login, signal) : verified.login;
    return { login, tokenStorage: 'local', expiresAt: login.claims.exp };
  }

  /** Adds claims that an access token lacks, from the userinfo endpoint, once. Omits them while the endpoint cannot be reached. */
  async #complete({ token, hash }: Bearer, login: VerifiedLogin, signal: AbortSignal): Promise<VerifiedLogin> {
    const { claims, issuer } = login;
    if (!isIncomplete(claims, issuer.settings)) return login;
    const known = this.#completed.get(hash);
    if (known !== undefined) return known;
    const info = await issuer.client.userInfo(token, claims.sub, signal);
    if ('fault' in info && !info.isRefused) return login;
    const whole = new VerifiedLogin(issuer, completed(claims, 'claims' in info ? info.claims : {}, issuer.settings));
    this.#completed.set(hash, whole);
    return whole;
  }

  /** Returns the identity from the API server; from the claims while the API server cannot be reached. */
  async #identify(bearer: Bearer, login: VerifiedLogin | undefined, signal: AbortSignal): Promise<Identity> {
    try {
      return (await this.#identifyBearer(bearer, signal)).identity;
    } catch (error) {
      const isOutOfReach = error instanceof StatusError && error.status.code >= 500;
      if (!isOutOfReach || login === undefined) throw error;
      return login.identity;
    }
  }
}
