import { hash } from 'node:crypto';
import { decodeJwt, errors, type JWTHeaderParameters } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { StatusError, unauthorized } from '../api/status.ts';
import { atMost } from '../http/bound.ts';
import type { Services } from '../services.ts';
import { loginOf, usedClaims } from './claims.ts';
import type { IssuerClient } from './client.ts';
import type { IssuerKeys } from './keys.ts';
import { withoutEmpty } from './members.ts';
import { differsBySlash, type RefusalLog, type RefusedToken, TokenRefusal } from './refusal-log.ts';
import type { IssuerSettings, VerifiedClaims, VerifiedToken } from './types.ts';

/** What an ID token must agree with beside the rules for all tokens. */
export interface IdTokenChecks {
  /** Left out for a renewed one, which need not repeat it (OpenID Connect Core 12.2). */
  nonce?: string;
  /** The code that came beside it through the browser; `c_hash` is then compulsory. */
  code?: string;
  /** The access token that came beside it from the token endpoint. */
  accessToken?: string;
}

/** Asymmetric ones only: a public key must never serve as a shared secret (RFC 8725 section 3.1). */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
const leewaySeconds = 60;
const maxVerified = 10_000;

const claimsSchema = z
  .record(z.string(), z.unknown())
  .transform(withoutEmpty)
  .pipe(
    z.looseObject({
      iss: z.string(),
      sub: z.string().min(1).max(255),
      aud: z.union([z.string(), z.array(z.string())]),
      exp: z.number(),
      iat: z.number(),
      azp: z.string().optional(),
      events: z.undefined().optional(),
    }),
  );

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** OpenID Connect Back-Channel Logout 1.0, section 2.4. */
const logoutSchema = z
  .looseObject({
    iss: z.string(),
    aud: z.union([z.string(), z.array(z.string())]),
    exp: z.number(),
    iat: z.number(),
    azp: z.string().optional(),
    jti: z.string().min(1),
    events: z.looseObject({ [logoutEvent]: z.looseObject({}) }),
    sub: z.string().min(1).max(255).optional(),
    sid: z.string().min(1).max(2048).optional(),
    nonce: z.undefined().optional(),
  })
  .refine(({ sub, sid }) => sub !== undefined || sid !== undefined, 'names neither a session nor a user');

type Claims = z.output<typeof claimsSchema>;

/** What the issuer has ended: the session `sid`, or without one all of `sub`. */
export type LogoutClaims = z.output<typeof logoutSchema>;

/** Verifies tokens of one issuer (docs/contract/conventions.md; OpenID Connect Core 3.1.3.7, RFC 9068 section 4). */
export class TokenVerifier {
  readonly #settings: IssuerSettings;
  readonly #client: Pick<IssuerClient, 'idTokenAlgorithms'>;
  readonly #keys: IssuerKeys;
  readonly #refusals: RefusalLog;
  readonly #now: () => Date;
  readonly #verified = new LRUCache<string, VerifiedToken>(atMost(maxVerified));
  /** Tokens that do not name our issuer, and never will: to find that out, each has to be decoded. */
  readonly #foreign = new LRUCache<string, true>(atMost(maxVerified));

  constructor(
    { metrics, now }: Pick<Services, 'metrics' | 'now'>,
    settings: IssuerSettings,
    client: Pick<IssuerClient, 'idTokenAlgorithms'>,
    keys: IssuerKeys,
    refusals: RefusalLog,
  ) {
    this.#settings = settings;
    this.#client = client;
    this.#keys = keys;
    this.#refusals = refusals;
    this.#now = now;
    metrics.cache(() => ({ name: 'verified_tokens', entries: this.#verified.size }));
  }

  /**
   * A bearer token: whose it is, or 'not ours' for a token that names another issuer, which the API server verifies.
   *
   * @param isSent false for one that no caller has sent: then the log is not told why it is refused
   * @throws StatusError 401 (cause TokenExpired for one that held until then), 503 while the issuer's keys are not to be had
   */
  async bearer(token: string, { isSent = true } = {}): Promise<VerifiedToken | 'not ours'> {
    const key = hash('sha256', token);
    const known = this.#verified.get(key);
    if (known !== undefined && this.#seconds() < known.claims.exp) return known;
    if (this.#foreign.has(key) || !this.#isOurs(token, key)) return 'not ours';
    const verified = await (isSent ? this.#told('bearer token', token, () => this.#bearer(token)) : this.#bearer(token));
    if (this.#seconds() < verified.claims.exp) this.#verified.set(key, verified);
    return verified;
  }

  /** Whether a token of that SHA-256 was found to name another issuer. */
  isForeign(tokenHash: string): boolean {
    return this.#foreign.has(tokenHash);
  }

  async #bearer(token: string): Promise<VerifiedToken> {
    const expected = { types: ['jwt', 'at+jwt'], algorithms, whenUnread: 'refuse', schema: claimsSchema } as const;
    const { claims, header } = await this.#verify(token, expected);
    this.#checkAudience(claims);
    const used = usedClaims(claims, this.#settings);
    return { claims: used, login: loginOf(used, this.#settings), isAccessToken: isAccessToken(claims, header) };
  }

  /** Whether a token is an ID token for us, and no other JWT of the issuer. */
  async isIdToken(token: string): Promise<boolean> {
    return this.idToken(token, {}).then(
      () => true,
      () => false,
    );
  }

  /**
   * An ID token that came to us as the client.
   *
   * @throws StatusError 401, 503
   */
  idToken(token: string, checks: IdTokenChecks): Promise<VerifiedClaims> {
    return this.#told('ID token', token, () => this.#idToken(token, checks));
  }

  async #idToken(token: string, checks: IdTokenChecks): Promise<VerifiedClaims> {
    const { claims, header } = await this.#verify(token, { types: ['jwt'], ...(await this.#ofClient()), schema: claimsSchema });
    this.#checkClient(claims);
    const { nonce, c_hash: codeHash, at_hash: accessTokenHash } = claims;
    if (checks.nonce !== undefined && nonce !== checks.nonce) throw refusal('the nonce is another');
    if (checks.code !== undefined && codeHash !== halfHash(checks.code, header)) throw refusal('c_hash does not fit the code');
    const isBound = checks.accessToken !== undefined && accessTokenHash !== undefined;
    if (isBound && accessTokenHash !== halfHash(checks.accessToken ?? '', header)) throw refusal('at_hash does not fit the access token');
    return claims;
  }

  /**
   * A logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6), but for its `jti`, which counts once.
   *
   * @throws StatusError 401, 503
   */
  logoutToken(token: string): Promise<LogoutClaims> {
    return this.#told('logout token', token, async () => {
      const { claims } = await this.#verify(token, {
        types: ['logout+jwt', 'jwt'],
        ...(await this.#ofClient()),
        schema: logoutSchema,
      });
      this.#checkClient(claims);
      return claims;
    });
  }

  /** Tokens that the issuer makes for us as its client, logout tokens among them: signed with what it announces for ID tokens. */
  async #ofClient() {
    const announced = await this.#client.idTokenAlgorithms();
    return { algorithms: algorithms.filter((algorithm) => announced.includes(algorithm)), whenUnread: 'fail' } as const;
  }

  /** Why a token is refused is for the log alone. */
  async #told<T>(kind: RefusedToken, token: string, verify: () => Promise<T>): Promise<T> {
    try {
      return await verify();
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) this.#refusals.tell(kind, error.cause, token);
      throw error;
    }
  }

  #seconds(): number {
    return this.#now().getTime() / 1000;
  }

  /** By a claim that nothing has proved yet: it only decides who verifies. */
  #isOurs(token: string, key: string): boolean {
    const { issuer } = this.#settings;
    try {
      const { iss } = decodeJwt(token);
      if (iss !== undefined && differsBySlash(iss, issuer))
        this.#refusals.tell(
          'bearer token',
          new TokenRefusal('IssuerMismatch', 'iss is another', { name: 'iss', given: iss, expected: issuer }),
        );
      else if (iss !== issuer) this.#foreign.set(key, true);
      return iss === issuer;
    } catch {
      // What is no JWT stays none: to find that out again would take a tenth of a request.
      this.#foreign.set(key, true);
      return false;
    }
  }

  async #verify<C extends { iat: number }>(
    token: string,
    { types, algorithms, whenUnread, schema }: Expected<C>,
  ): Promise<{ claims: C; header: JWTHeaderParameters }> {
    const { issuer } = this.#settings;
    const verified = await this.#keys
      .verify(token, { algorithms: [...algorithms], issuer, clockTolerance: leewaySeconds, currentDate: this.#now(), whenUnread })
      .catch((error: unknown) => {
        throw error instanceof StatusError ? error : refusalBecause(error);
      });
    const { protectedHeader: header } = verified;
    if (header.typ !== undefined && !types.includes(String(header.typ).toLowerCase()))
      throw refusal('typ is another', { name: 'typ', expected: types, given: header.typ });
    const claims = schema.safeParse(verified.payload);
    if (!claims.success) throw refusalBecause(claims.error);
    const ahead = Math.round(claims.data.iat - this.#seconds());
    if (ahead > leewaySeconds) throw refusal(`iat lies ${ahead} s ahead: one of the clocks is wrong`);
    return { claims: claims.data, header };
  }

  /** A token for the client. */
  #checkClient(claims: Pick<Claims, 'aud' | 'azp'>): void {
    const { clientID } = this.#settings;
    const given = [claims.aud].flat();
    if (!given.includes(clientID)) throw refusal('aud is another', { name: 'aud', expected: [clientID], given });
    this.#checkAudience(claims);
  }

  /** Another member of `aud` could pass the token on: then `azp` must say that it was made for us. */
  #checkAudience({ aud, azp }: Pick<Claims, 'aud' | 'azp'>): void {
    const { clientID, audiences } = this.#settings;
    const given = [aud].flat();
    const isTrusted = (audience: string) => audience === clientID || audiences.includes(audience);
    if (!given.some(isTrusted)) throw refusal('aud is another', { name: 'aud', expected: [clientID, ...audiences], given });
    if (!given.includes(clientID)) return;
    if (azp === undefined ? !given.every(isTrusted) : azp !== clientID)
      throw refusal('azp is another', { name: 'azp', expected: clientID, given: azp });
  }
}

interface Expected<C> {
  /** Values of `typ`, in lower case. */
  types: readonly string[];
  algorithms: readonly string[];
  whenUnread: 'refuse' | 'fail';
  schema: z.ZodType<C>;
}

/** An ID token is for us alone, and worth nothing at the issuer: it is not to be sent there as a credential. */
function isAccessToken(claims: Claims, { typ }: JWTHeaderParameters): boolean {
  if (String(typ).toLowerCase() === 'at+jwt') return true;
  if (['nonce', 'at_hash', 'c_hash'].some((name) => claims[name] !== undefined)) return false;
  // Keycloak says `Bearer`; `scope` and `client_id` are of RFC 9068.
  return claims.typ === 'Bearer' || ['scope', 'scp', 'client_id'].some((name) => claims[name] !== undefined);
}

/** By a rule of ours. */
const refusal = (why: string, difference?: TokenRefusal['difference']): StatusError =>
  refusalBecause(new TokenRefusal('RuleViolated', why, difference));

/** 401 that tells the caller nothing but, for a token that held once, that it has expired. */
function refusalBecause(cause: unknown): StatusError {
  const isExpired = cause instanceof errors.JWTExpired;
  const refused = unauthorized({
    tokenGiven: true,
    ...(isExpired && { causes: [{ reason: 'TokenExpired', message: 'the token has expired' }] }),
  });
  refused.cause = cause;
  return refused;
}

/** The left half of the hash that belongs to the token's algorithm (OpenID Connect Core 3.1.3.6, 3.3.2.11). */
function halfHash(text: string, { alg }: JWTHeaderParameters): string {
  const bits = alg.startsWith('Ed') ? '512' : alg.slice(-3);
  const bytes = hash(`sha${bits}`, text, 'buffer');
  return bytes.subarray(0, bytes.length / 2).toString('base64url');
}
