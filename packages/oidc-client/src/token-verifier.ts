import { hash } from 'node:crypto';
import type { Bearer } from '@atrium/http/caller.ts';
import { atMost, atMostBytes, textBytes } from '@atrium/http/limits/bounded-cache.ts';
import { reportCache } from '@atrium/http/limits/reports.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import { decodeJwt, errors, type JWTHeaderParameters } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { IssuerDiscovery } from './discovery.ts';
import { differsBySlash, type RefusalLog, type RefusedToken, TokenRefusal } from './errors.ts';
import { withoutEmpty } from './fetch.ts';
import type { IssuerKeys } from './keys.ts';
import { numericDate } from './times.ts';
import type { ClientSettings, VerifiedClaims, VerifiedToken } from './types.ts';

/** Values that an ID token must match, beside the rules for all tokens. */
export interface IdTokenChecks {
  /** Undefined for a renewed token, which need not repeat the nonce (OpenID Connect Core 12.2). */
  nonce?: string;
  /** Code that came with the token through the browser; `c_hash` is then mandatory. */
  code?: string;
  /** Access token that came with the token from the token endpoint. */
  accessToken?: string;
}

/** Access token for another resource than this client. */
export interface ResourceToken extends VerifiedToken {
  /** Client that the issuer gave the token. */
  readonly client: string;
  /** Id of the token. */
  readonly id: string;
}

/** Bearer token with its SHA-256. */
export type TokenWithHash = Pick<Bearer, 'token' | 'hash'>;

/** Asymmetric algorithms only: a public key must never serve as a shared secret (RFC 8725 section 3.1). */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
const leewaySeconds = 60;
const maxForeign = 10_000;
/** Bound of the verified tokens: some 10,000. A token may have thousands of groups. */
const maxVerifiedBytes = 32 * 1024 * 1024;

/** Claims of all tokens, without empty ones (RFC 7519 section 4.1). */
const common = {
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  exp: numericDate,
  iat: numericDate,
  nbf: z.number().optional(),
  azp: z.string().optional(),
};

const claimsSchema = z.looseObject({ ...common, sub: z.string().min(1).max(255), events: z.undefined().optional() });

/** Code in the log and in metrics, as of the library that verifies signatures. */
const claimFailed = 'ERR_JWT_CLAIM_VALIDATION_FAILED';

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** OpenID Connect Back-Channel Logout 1.0, section 2.4. */
const logoutSchema = z
  .looseObject({
    ...common,
    jti: z.string().min(1),
    events: z.looseObject({ [logoutEvent]: z.looseObject({}) }),
    sub: z.string().min(1).max(255).optional(),
    sid: z.string().min(1).max(2048).optional(),
    nonce: z.undefined().optional(),
  })
  .refine(({ sub, sid }) => sub !== undefined || sid !== undefined, 'names neither a session nor a user');

type Claims = z.output<typeof claimsSchema>;

/** Logins that the issuer has ended: the session `sid`, or without a `sid` all logins of `sub`. */
export type LogoutClaims = z.output<typeof logoutSchema>;

interface VerifierParts {
  metrics: Metrics;
  now: () => Date;
  /**
   * Returns the claims that are used, and the login that they name.
   *
   * @throws StatusError 401 for claims that name no user
   */
  read(claims: VerifiedClaims): Pick<VerifiedToken, 'claims' | 'login'>;
}

/** Verifies tokens of one issuer (docs/contract/conventions.md; OpenID Connect Core 3.1.3.7, RFC 9068 section 4). */
export class TokenVerifier {
  readonly #settings: ClientSettings;
  readonly #discovery: IssuerDiscovery;
  readonly #keys: IssuerKeys;
  readonly #refusals: RefusalLog;
  readonly #now: () => Date;
  readonly #read: VerifierParts['read'];
  readonly #verified = new LRUCache<string, VerifiedToken>(
    atMostBytes(maxVerifiedBytes, ({ claims }: VerifiedToken) => textBytes(JSON.stringify(claims))),
  );
  /** Tokens that do not name this issuer. The cache saves decoding them again. */
  readonly #foreign = new LRUCache<string, true>(atMost(maxForeign));

  constructor(
    { metrics, now, read }: VerifierParts,
    settings: ClientSettings,
    discovery: IssuerDiscovery,
    keys: IssuerKeys,
    refusals: RefusalLog,
  ) {
    this.#settings = settings;
    this.#discovery = discovery;
    this.#keys = keys;
    this.#refusals = refusals;
    this.#now = now;
    this.#read = read;
    reportCache(metrics, 'verified_tokens', () => this.#verified.size);
  }

  /**
   * Verifies a bearer token. Returns 'not ours' for a token that does not name this issuer.
   *
   * @param isSent false for a token that no caller has sent, whose refusal is not logged
   * @throws StatusError 401 (cause TokenExpired for a token that has expired), 503 while the issuer's keys are not available
   */
  async bearer({ token, hash: key }: TokenWithHash, { isSent = true } = {}): Promise<VerifiedToken | 'not ours'> {
    const known = this.#verified.get(key);
    if (known !== undefined && this.#seconds() < known.claims.exp) return known;
    if (this.#foreign.has(key) || !this.#isOurs(token, key)) return 'not ours';
    const verified = await (isSent ? this.#told('bearer token', token, () => this.#bearer(token)) : this.#bearer(token));
    if (this.#seconds() < verified.claims.exp) this.#verified.set(key, verified);
    return verified;
  }

  async #bearer(token: string): Promise<VerifiedToken> {
    const expected = { types: ['jwt', 'at+jwt'], algorithms, ifUnread: 'refuse', schema: claimsSchema } as const;
    const { claims, header } = await this.#verify(token, expected);
    this.#checkAudience(claims);
    return { ...this.#read(claims), isAccessToken: isAccessToken(claims, header) };
  }

  /**
   * Verifies an access token for another resource of this service (RFC 8707; RFC 9068 section 4). Refuses a token whose audience also
   * includes this client: such a token is a credential of the person, and not of the client that the token names.
   *
   * @returns 'not ours' for a token that does not name this issuer
   * @throws StatusError 401, 503
   */
  async accessTokenFor(resource: string, { token, hash: key }: TokenWithHash): Promise<ResourceToken | 'not ours'> {
    if (this.#foreign.has(key) || !this.#isOurs(token, key)) return 'not ours';
    return this.#told('bearer token', token, () => this.#accessTokenFor(resource, token));
  }

  async #accessTokenFor(resource: string, token: string): Promise<ResourceToken> {
    const expected = { types: ['jwt', 'at+jwt'], algorithms, ifUnread: 'refuse', schema: claimsSchema } as const;
    const { claims, header } = await this.#verify(token, expected);
    const given = [claims.aud].flat();
    if (!given.includes(resource)) throw refusal('aud does not match', { name: 'aud', expected: [resource], given });
    if (given.some((audience) => this.#isTrusted(audience))) throw refusal('aud also has an audience of users', { name: 'aud', given });
    if (!isAccessToken(claims, header)) throw refusal('typ and claims are those of another kind of token');
    // RFC 9449 section 7.1: a token that is bound to a key is no bearer token.
    if (claims.cnf !== undefined) throw refusal('is bound to a key of its client', { name: 'cnf' });
    const client = [claims.client_id, claims.azp, claims.cid].find((value) => typeof value === 'string');
    if (typeof client !== 'string') throw refusal('names no client', { name: 'client_id' });
    const { jti } = claims;
    return { ...this.#read(claims), isAccessToken: true, client, id: typeof jti === 'string' ? jti : hash('sha256', token).slice(0, 32) };
  }

  /** Reports whether a token is an ID token for this client, and no other JWT of the issuer. */
  async isIdToken(token: string): Promise<boolean> {
    return this.idToken(token, {}).then(
      () => true,
      () => false,
    );
  }

  /**
   * Verifies an ID token for this client.
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
    if (checks.nonce !== undefined && nonce !== checks.nonce) throw refusal('the nonce does not match');
    if (checks.code !== undefined && codeHash !== halfHash(checks.code, header)) throw refusal('c_hash does not fit the code');
    const isBound = checks.accessToken !== undefined && accessTokenHash !== undefined;
    if (isBound && accessTokenHash !== halfHash(checks.accessToken ?? '', header)) throw refusal('at_hash does not fit the access token');
    return claims;
  }

  /**
   * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6), except that its `jti` was not used before.
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

  /**
   * Verifies the token of a workload for this client alone. Any other audience could forward the token, and access tokens are made for
   * calls to others.
   *
   * @throws StatusError 401, 503
   */
  workloadToken(token: string): Promise<VerifiedClaims> {
    return this.#told('workload token', token, async () => {
      const { algorithms: announced } = await this.#ofClient();
      // Any client may send a token with a made-up key id.
      const expected = { types: ['jwt'], algorithms: announced, ifUnread: 'refuse', schema: claimsSchema } as const;
      const { claims, header } = await this.#verify(token, expected);
      const { clientID } = this.#settings;
      const given = [claims.aud].flat();
      if (given.length !== 1 || given[0] !== clientID) throw refusal('aud does not match', { name: 'aud', expected: [clientID], given });
      if (isAccessToken(claims, header)) throw refusal('the token is an access token', { name: 'typ', given: claims.typ });
      return claims;
    });
  }

  /** Returns the rules for tokens to this client, also logout tokens: they use the algorithms that the issuer announces for ID tokens. */
  async #ofClient() {
    const announced = await this.#discovery.idTokenAlgorithms();
    return { algorithms: algorithms.filter((algorithm) => announced.includes(algorithm)), ifUnread: 'fail' } as const;
  }

  /** Logs the reason of a refusal, which the caller does not learn. */
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

  /** Reads an unverified claim, which only selects the verifier. */
  #isOurs(token: string, key: string): boolean {
    const { issuer } = this.#settings;
    try {
      const { iss } = decodeJwt(token);
      if (iss !== undefined && differsBySlash(iss, issuer))
        this.#refusals.tell(
          'bearer token',
          new TokenRefusal('IssuerMismatch', 'iss does not match', { name: 'iss', given: iss, expected: issuer }),
        );
      else if (iss !== issuer) this.#foreign.set(key, true);
      return iss === issuer;
    } catch {
      // Tokens that are not JWTs are cached too: decoding one again would take a tenth of a request.
      this.#foreign.set(key, true);
      return false;
    }
  }

  async #verify<C extends Times>(
    token: string,
    { types, algorithms, ifUnread, schema }: Expected<C>,
  ): Promise<{ claims: C; header: JWTHeaderParameters }> {
    const { issuer } = this.#settings;
    const { payload, protectedHeader: header } = await this.#keys.verify(token, { algorithms, ifUnread }).catch((error: unknown) => {
      throw error instanceof StatusError ? error : unauthorizedBy(error);
    });
    // RFC 7797 section 7: no JWT has an unencoded payload.
    if (header.b64 === false) throw refusal('b64 is false', { name: 'b64' });
    if (header.typ && !types.includes(String(header.typ).toLowerCase()))
      throw refusal('typ does not match', { name: 'typ', expected: types, given: header.typ });
    const given = claimsIn(payload);
    if (given?.iss !== issuer)
      throw unauthorizedBy(new TokenRefusal(claimFailed, 'iss does not match', { name: 'iss', expected: issuer, given: given?.iss }));
    const claims = schema.safeParse(given);
    if (!claims.success) throw unauthorizedBy(claims.error);
    this.#checkTimes(claims.data);
    return { claims: claims.data, header };
  }

  #checkTimes({ iat, exp, nbf = 0 }: Times): void {
    const now = Math.floor(this.#seconds());
    if (nbf > now + leewaySeconds) throw unauthorizedBy(new TokenRefusal(claimFailed, 'nbf is in the future', { name: 'nbf' }));
    if (exp <= now - leewaySeconds) throw unauthorizedBy(new errors.JWTExpired('the "exp" claim has passed', {}, 'exp'));
    const ahead = Math.round(iat - this.#seconds());
    if (ahead > leewaySeconds) throw refusal(`iat is ${ahead} s in the future: check the clocks of this machine and of the issuer`);
  }

  /** Requires a token for this client. */
  #checkClient(claims: Pick<Claims, 'aud' | 'azp'>): void {
    const { clientID } = this.#settings;
    const given = [claims.aud].flat();
    if (!given.includes(clientID)) throw refusal('aud does not match', { name: 'aud', expected: [clientID], given });
    this.#checkAudience(claims);
  }

  /** Requires a trusted audience. Another member of `aud` could forward the token: then `azp` must name this client. */
  #checkAudience({ aud, azp }: Pick<Claims, 'aud' | 'azp'>): void {
    const { clientID, audiences } = this.#settings;
    const given = [aud].flat();
    const isTrusted = (audience: string) => this.#isTrusted(audience);
    if (!given.some(isTrusted)) throw refusal('aud does not match', { name: 'aud', expected: [clientID, ...audiences], given });
    if (!given.includes(clientID)) return;
    if (azp === undefined ? !given.every(isTrusted) : azp !== clientID)
      throw refusal('azp does not match', { name: 'azp', expected: clientID, given: azp });
  }

  #isTrusted(audience: string): boolean {
    return audience === this.#settings.clientID || this.#settings.audiences.includes(audience);
  }
}

interface Times {
  readonly iat: number;
  readonly exp: number;
  readonly nbf?: number | undefined;
}

interface Expected<C> {
  /** Values of `typ`, in lower case. */
  types: readonly string[];
  algorithms: readonly string[];
  ifUnread: 'refuse' | 'fail';
  schema: z.ZodType<C>;
}

/** Returns the claims of a verified token, without empty ones, which count as missing; undefined for a payload that is no JSON object. */
function claimsIn(payload: Uint8Array): Record<string, unknown> | undefined {
  try {
    const claims: unknown = JSON.parse(new TextDecoder().decode(payload));
    return isRecord(claims) ? withoutEmpty(claims) : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether a token can be sent to the issuer as a credential. An ID token is for this service alone. */
function isAccessToken(claims: Claims, { typ }: JWTHeaderParameters): boolean {
  if (String(typ).toLowerCase() === 'at+jwt') return true;
  if (['nonce', 'at_hash', 'c_hash'].some((name) => claims[name] !== undefined)) return false;
  // Keycloak sets `typ` to `Bearer`; RFC 9068 defines `scope` and `client_id`.
  return claims.typ === 'Bearer' || ['scope', 'scp', 'client_id'].some((name) => claims[name] !== undefined);
}

/** Refuses a token by a rule of this service. */
const refusal = (why: string, difference?: TokenRefusal['difference']): StatusError =>
  unauthorizedBy(new TokenRefusal('RuleViolated', why, difference));

/** Builds a 401 that tells the caller no reason, except that a token has expired. */
function unauthorizedBy(cause: unknown): StatusError {
  const isExpired = cause instanceof errors.JWTExpired;
  const refused = unauthorized({
    tokenGiven: true,
    ...(isExpired && { causes: [{ reason: 'TokenExpired', message: 'the token has expired' }] }),
  });
  refused.cause = cause;
  return refused;
}

/** Returns the left half of the hash that belongs to the token's algorithm (OpenID Connect Core 3.1.3.6, 3.3.2.11). */
function halfHash(text: string, { alg }: JWTHeaderParameters): string {
  const bits = alg.startsWith('Ed') ? '512' : alg.slice(-3);
  const bytes = hash(`sha${bits}`, text, 'buffer');
  return bytes.subarray(0, bytes.length / 2).toString('base64url');
}
