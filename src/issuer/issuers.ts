import { decodeJwt } from 'jose';
import { badParameter, unauthorized } from '../api/status.ts';
import type { Check } from '../http/health.ts';
import type { IssuersInUse } from '../users/record/account.ts';
import { unfit } from './claims.ts';
import type { Issuer } from './issuer.ts';
import { requireAllTellable } from './mix-up.ts';
import { readSealedBearer } from './sealed-bearers.ts';
import type { LogoutClaims, TokenVerifier } from './token-verifier.ts';
import type { VerifiedToken } from './types.ts';
import { VerifiedLogin } from './verified-login.ts';

/** What a login says of where it is to go. */
interface IssuerChoice {
  issuer?: string | undefined;
  connector_id?: string | undefined;
  login_hint?: string | undefined;
}

/** A bearer token of one of the issuers. */
export interface VerifiedBearer {
  readonly login: VerifiedLogin;
  /** Whether it can be sent to the issuer; an ID token is for this service alone. */
  readonly isAccessToken: boolean;
}

/**
 * The identity providers that people log in at. Whose a token, a login or a flow is, is asked here by its issuer identifier (`iss`), and
 * nowhere taken for granted.
 */
export class Issuers {
  /** Where a login goes that names none. */
  readonly first: Issuer;
  /** What a record may belong to. */
  readonly inUse: IssuersInUse;
  readonly #all: ReadonlyMap<string, Issuer>;
  /** Verifiers cache their tokens, and so the values that a token decides are derived once. */
  readonly #bearers = new WeakMap<VerifiedToken, VerifiedBearer>();

  constructor(first: Issuer, ...further: readonly Issuer[]) {
    this.first = first;
    this.#all = new Map([first, ...further].map((issuer) => [issuer.settings.issuer, issuer]));
    const [embedded, external] = [true, false].map((isEmbedded) =>
      [...this.all()].filter(({ settings }) => settings.isEmbedded === isEmbedded),
    );
    this.inUse = {
      external: new Set(external?.map(({ settings }) => settings.issuer)),
      hasEmbedded: embedded?.length !== 0,
    };
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

  /** By the id of the configuration. */
  named(id: string): Issuer | undefined {
    return [...this.all()].find(({ settings }) => settings.id === id);
  }

  /**
   * Where a login goes (docs/contract/login.md).
   *
   * @param current the issuer of the login that the caller has
   * @throws StatusError 400 for an id that no issuer has
   */
  chosen({ issuer: id, connector_id: connector, login_hint: hint }: IssuerChoice, current: string | undefined): Issuer {
    if (id !== undefined) {
      const named = this.named(id);
      if (named === undefined) throw badParameter('issuer', 'must be the id of an issuer');
      return named;
    }
    const domain = hint?.slice(hint.lastIndexOf('@') + 1).toLowerCase();
    const ofDomain = [...this.all()].find(({ settings }) => domain !== undefined && settings.emailDomains.includes(domain));
    return this.named(connector ?? '') ?? ofDomain ?? this.#all.get(current ?? '') ?? this.first;
  }

  all(): Iterable<Issuer> {
    return this.#all.values();
  }

  /** Verifies a bearer token with the issuer that it names, like `TokenVerifier.bearer`. Opens sealed bearers of this service, too. */
  async bearer(...asked: Parameters<TokenVerifier['bearer']>): Promise<VerifiedBearer | 'not ours'> {
    const own = readSealedBearer(asked[0]);
    if (own !== undefined) {
      const issuer = this.named(own.id);
      if (issuer === undefined) throw unauthorized({ tokenGiven: true });
      return this.#bearerOf(issuer, await issuer.bearers.open(own.sealed));
    }
    for (const issuer of this.all()) {
      const verified = await issuer.verifier.bearer(...asked);
      if (verified !== 'not ours') return this.#bearerOf(issuer, verified);
    }
    return 'not ours';
  }

  #bearerOf(issuer: Issuer, token: VerifiedToken): VerifiedBearer {
    const { claims, login, isAccessToken } = token;
    const bearer = this.#bearers.get(token) ?? { login: new VerifiedLogin(issuer, claims, login), isAccessToken };
    this.#bearers.set(token, bearer);
    return bearer;
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

  /** @throws ConfigError */
  start(): Promise<void> {
    return requireAllTellable(this.all());
  }

  /** Returns the external issuers that cannot be reached, with the reason. The embedded issuer answers once this service listens. */
  async unreachable(): Promise<{ path: string; issuer: string; reason: string }[]> {
    const external = [...this.all()].filter(({ settings }) => !settings.isEmbedded);
    const reasons = await Promise.all(external.map((issuer) => issuer.unreachable()));
    return external.flatMap(({ settings: { issuer, isOneOfSeveral, id } }, index) => {
      const reason = reasons[index];
      return reason === undefined ? [] : [{ path: isOneOfSeveral ? `login.issuers (${id})` : 'login.issuer', issuer, reason }];
    });
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
