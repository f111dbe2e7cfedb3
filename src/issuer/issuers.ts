import { decodeJwt } from 'jose';
import type { Check } from '../http/health.ts';
import { unfit } from './claims.ts';
import type { Issuer } from './issuer.ts';
import type { LogoutClaims, TokenVerifier } from './token-verifier.ts';
import type { VerifiedToken } from './types.ts';

/**
 * The identity providers that people log in at. Whose a token, a login or a flow is, is asked here by its issuer identifier (`iss`), and
 * nowhere taken for granted.
 */
export class Issuers {
  /** Where a login goes that names none. */
  readonly first: Issuer;
  readonly #all: ReadonlyMap<string, Issuer>;

  constructor(first: Issuer, ...further: readonly Issuer[]) {
    this.first = first;
    this.#all = new Map([first, ...further].map((issuer) => [issuer.settings.issuer, issuer]));
  }

  has(iss: string): boolean {
    return this.#all.has(iss);
  }

  /** @throws StatusError 401 for one that people do not log in at, or no longer */
  of({ iss }: { readonly iss: string }): Issuer {
    const issuer = this.#all.get(iss);
    if (issuer === undefined) throw unfit('is of an issuer that is not configured');
    return issuer;
  }

  all(): Iterable<Issuer> {
    return this.#all.values();
  }

  /** As `TokenVerifier.bearer`, by the one that the token names. */
  async bearer(...asked: Parameters<TokenVerifier['bearer']>): Promise<VerifiedToken | 'not ours'> {
    for (const { verifier } of this.all()) {
      const verified = await verifier.bearer(...asked);
      if (verified !== 'not ours') return verified;
    }
    return 'not ours';
  }

  /** Whether a token of that SHA-256 is known to be of none of them; false while that is not known. */
  areForeignTo(tokenHash: string): boolean {
    for (const { verifier } of this.#all.values()) if (!verifier.isForeign(tokenHash)) return false;
    return true;
  }

  /** As `TokenVerifier.logoutToken`, by the one that the token names; what names none is refused by the first, which logs why. */
  logoutToken(token: string): Promise<LogoutClaims> {
    return (this.#namedIn(token) ?? this.first).verifier.logoutToken(token);
  }

  /** Ends a refresh token of that login, if it has one and its issuer can be reached. Never throws. */
  async discard({ iss }: { readonly iss: string }, refreshToken: string | undefined): Promise<void> {
    if (refreshToken !== undefined) await this.#all.get(iss)?.discard(refreshToken);
  }

  get checks(): readonly Check[] {
    return [...this.all()].flatMap(({ checks }) => checks);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.all()].map((issuer) => issuer.stop()));
  }

  /** By a claim that nothing has proved yet: it only decides who verifies. */
  #namedIn(token: string): Issuer | undefined {
    try {
      return this.#all.get(decodeJwt(token).iss ?? '');
    } catch {
      return undefined;
    }
  }
}
