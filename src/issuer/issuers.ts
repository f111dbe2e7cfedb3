import type { Check } from '@atrium/http/health.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { badParameter, unauthorized } from '@atrium/objects/status.ts';
import { announcesIss } from '@atrium/oidc-client/discovery.ts';
import { IssuerFault, issuerUnavailable } from '@atrium/oidc-client/errors.ts';
import type { LogoutClaims, TokenWithHash } from '@atrium/oidc-client/token-verifier.ts';
import type { VerifiedToken } from '@atrium/oidc-client/types.ts';
import { decodeJwt } from 'jose';
import { ConfigError } from '../config/load.ts';
import type { IssuersInUse } from '../users/record/account.ts';
import { unfit } from './claims.ts';
import type { Issuer } from './issuer.ts';
import { readSealedBearer, sealedBearerPrefix } from './sealed-bearers.ts';
import { VerifiedLogin } from './verified-login.ts';

/** An issuer that does not answer in this time is checked when users log in there. */
const startMs = 5_000;

type Asked = Pick<Issuer, 'settings' | 'discovery'>;

/**
 * Reports whether answers of an issuer could be those of another one. In a mix-up attack, one of several issuers redirects a browser to
 * another issuer and receives that issuer's code (RFC 9700 section 4.4), so each answer must identify its issuer, by `iss` or by a redirect
 * URL of its own.
 *
 * @throws StatusError 503
 */
async function isMixable({ settings, discovery }: Asked): Promise<boolean> {
  if (!settings.isOneOfSeveral || settings.isEmbedded || settings.redirectURL !== undefined) return false;
  return !announcesIss(await discovery.metadata());
}

/** @throws StatusError 503 for an issuer whose answers do not identify it */
export async function requireTellable(issuer: Asked): Promise<void> {
  if (await isMixable(issuer)) throw issuerUnavailable(new IssuerFault('announces no iss, and has no redirectURL of its own'));
}

/** @throws ConfigError for issuers that can be reached, and whose answers do not identify them */
async function requireAllTellable(issuers: Iterable<Asked>): Promise<void> {
  const deadline = AbortSignal.timeout(startMs);
  const problems = await Promise.all(
    [...issuers].map(async (issuer, index) => {
      const isRefused = await abortable(isMixable(issuer), deadline).catch(() => false);
      const message = `is required: ${issuer.settings.id} does not announce iss (RFC 9207); its query holds issuer=${issuer.settings.id}`;
      return isRefused ? [{ path: `login.issuers[${index}].redirectURL`, message }] : [];
    }),
  );
  if (problems.flat().length > 0) throw new ConfigError(problems.flat());
}

/** Parameters of a login that select the issuer. */
interface IssuerChoice {
  issuer?: string | undefined;
  connector_id?: string | undefined;
  login_hint?: string | undefined;
}

/** A bearer token of one of the issuers. */
export interface VerifiedBearer {
  readonly login: VerifiedLogin;
  /** True for a token that can be sent to the issuer. An ID token is for this service alone. */
  readonly isAccessToken: boolean;
}

/**
 * The identity providers that users log in at. Every token, login and flow finds its issuer here by the issuer identifier (`iss`); no code
 * assumes a single issuer.
 */
export class Issuers {
  /** Default issuer of a login. */
  readonly first: Issuer;
  /** Issuers whose subjects a record may have. */
  readonly inUse: IssuersInUse;
  readonly #all: ReadonlyMap<string, Issuer>;
  /** Results by token. Verifiers cache their tokens, so the values of a token are derived once. */
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

  /** @throws StatusError 401 for an issuer that is not configured, or is no longer */
  of({ iss }: { readonly iss: string }): Issuer {
    const issuer = this.#all.get(iss);
    if (issuer === undefined) throw unfit('is of an issuer that is not configured');
    return issuer;
  }

  /** Finds an issuer by its id in the configuration. */
  named(id: string): Issuer | undefined {
    return [...this.all()].find(({ settings }) => settings.id === id);
  }

  /**
   * Selects the issuer of a login (docs/contract/login.md).
   *
   * @param current issuer of the caller's current login
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
  async bearer(bearer: TokenWithHash): Promise<VerifiedBearer | 'not ours'> {
    const own = bearer.token.startsWith(sealedBearerPrefix) ? readSealedBearer(bearer.token) : undefined;
    if (own !== undefined) {
      const issuer = this.named(own.id);
      if (issuer === undefined) throw unauthorized({ tokenGiven: true });
      return this.#bearerOf(issuer, await issuer.bearers.open(own.sealed));
    }
    for (const issuer of this.#all.values()) {
      const verified = await issuer.verifier.bearer(bearer);
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

  /** Verifies a logout token with the issuer that it names. The first issuer refuses a token of an unknown issuer, and logs why. */
  logoutToken(token: string): Promise<LogoutClaims> {
    return (this.#namedIn(token) ?? this.first).verifier.logoutToken(token);
  }

  /** Revokes the refresh token of a login, if it has one and its issuer can be reached. Never throws. */
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

  /** Reads an unverified claim, which only selects the verifier. */
  #namedIn(token: string): Issuer | undefined {
    try {
      return this.#all.get(decodeJwt(token).iss ?? '');
    } catch {
      return undefined;
    }
  }
}
