/**
 * Bearer tokens of the embedded cluster: JSON Web Tokens in the form of the API server's TokenRequest. The token contains its user, so that
 * users of the demo have tokens without being objects of the cluster.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#schema-for-service-account-private-claims
 */
import { randomUUID } from 'node:crypto';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { z } from 'zod';

/** Name of the cluster as an issuer of tokens, and audience of its API server. */
export const ISSUER = 'https://kubernetes.default.svc';
const ALGORITHM = 'ES256';
const PRIVATE_CLAIM = 'kubernetes.io';
export const AUTHENTICATED = 'system:authenticated';

/** Caller, in the form of `status.userInfo` of a SelfSubjectReview. */
export interface UserInfo {
  username: string;
  uid: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

/** Identity that a token proves. */
export interface TokenIdentity {
  user: UserInfo;
  /** Requested audiences that the token has; never empty. */
  audiences: string[];
  /** Seconds since 1970; Infinity if unset. */
  expiresAt: number;
}

const privateClaim = z.object({
  uid: z.string(),
  groups: z.array(z.string()),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});

type PrivateClaim = z.infer<typeof privateClaim>;

interface Key {
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  id: string;
}

/** Issues and verifies the tokens of one cluster, and holds its signing key. */
export class TokenIssuer {
  readonly #key: Key;
  readonly #now: () => Date;

  private constructor(key: Key, now: () => Date) {
    this.#key = key;
    this.#now = now;
  }

  /**
   * Creates an issuer.
   *
   * @param privateJwk result of `exportKey` of an earlier run; without it a new P-256 key is generated
   */
  static async create({ privateJwk, now = () => new Date() }: { privateJwk?: JWK; now?: () => Date } = {}): Promise<TokenIssuer> {
    const jwk = privateJwk ?? (await exportJWK((await generateKeyPair(ALGORITHM, { extractable: true })).privateKey));
    const { d: _private, key_ops: _uses, ...publicJwk } = jwk;
    const [privateKey, publicKey, id] = await Promise.all([
      importEcKey(jwk),
      importEcKey(publicJwk),
      calculateJwkThumbprint({ ...publicJwk, kty: 'EC' }),
    ]);
    return new TokenIssuer({ privateKey, publicKey, id }, now);
  }

  /** Issues a token. Audiences default to the API server itself; `expirationTimestamp` is RFC 3339 in whole seconds. */
  async issue({ user, audiences, expiresInSeconds }: { user: UserInfo; audiences?: string[]; expiresInSeconds: number }) {
    const issuedAt = Math.floor(this.#now().getTime() / 1000);
    const expiresAt = issuedAt + expiresInSeconds;
    const token = await new SignJWT({ [PRIVATE_CLAIM]: privateClaimOf(user) })
      .setProtectedHeader({ alg: ALGORITHM, kid: this.#key.id })
      .setIssuer(ISSUER)
      .setSubject(user.username)
      .setAudience(audiences?.length ? audiences : [ISSUER])
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(randomUUID())
      .sign(this.#key.privateKey);
    return { token, expirationTimestamp: new Date(expiresAt * 1000).toISOString().replace('.000Z', 'Z') };
  }

  /**
   * Returns the user of a token with `system:authenticated` added; undefined for a token that is not ours, not for us, or not valid now.
   */
  async verify(token: string): Promise<UserInfo | undefined> {
    return (await this.identify(token, [ISSUER]))?.user;
  }

  /** Verifies a token for any of `audiences` (empty: the API server) like `verify`. */
  async identify(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined> {
    const wanted = audiences.length ? audiences : [ISSUER];
    try {
      const { payload } = await jwtVerify(token, this.#key.publicKey, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: [...wanted],
        currentDate: this.#now(),
        requiredClaims: ['sub', 'exp', 'iat', 'nbf'],
      });
      const named = wanted.filter((audience) => [payload.aud].flat().includes(audience));
      return { user: userOf(payload), audiences: named, expiresAt: z.number().parse(payload.exp) };
    } catch {
      // Every failure has the same answer, 401.
      return undefined;
    }
  }

  /** Returns the private key, to be stored for a later run. */
  async exportKey(): Promise<JWK> {
    return exportJWK(this.#key.privateKey);
  }
}

async function importEcKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK({ ...jwk, kty: 'EC' }, ALGORITHM, { extractable: true });
  if (key instanceof Uint8Array) throw new TypeError('the signing key is not an EC key');
  return key;
}

/**
 * Returns the private claim. For a service account the claim is the API server's with additional members: groups and extra are not looked
 * up when the token is verified.
 */
function privateClaimOf({ username, uid, groups, extra }: UserInfo): PrivateClaim & Record<string, unknown> {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  return {
    ...(name && { namespace, serviceaccount: { name, uid } }),
    uid,
    groups: groups.filter((group) => group !== AUTHENTICATED),
    ...(extra && { extra }),
  };
}

function userOf(payload: JWTPayload): UserInfo {
  const { uid, groups, extra } = privateClaim.parse(payload[PRIVATE_CLAIM]);
  return { username: z.string().min(1).parse(payload.sub), uid, groups: [...groups, AUTHENTICATED], ...(extra && { extra }) };
}
