/**
 * OpenID provider whose tokens the embedded cluster accepts, by the rules of the API server's structured authentication: claims are mapped
 * like by `claimMappings`, `sub` becomes the uid (`claimMappings.uid.claim: sub`), and names and groups of Kubernetes itself are refused,
 * as the `userValidationRules` of its documentation do.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify, type RemoteJWKSet } from 'jose';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { AUTHENTICATED, type TokenIdentity, type UserInfo } from './tokens.ts';

export interface IssuerOptions {
  /** Exact value of the claim `iss`; http or https. */
  url: string;
  /** A token is accepted if it names one of these. */
  audiences: readonly [string, ...string[]];
  /** PEM; default: the authorities of the system. */
  certificateAuthority?: string;
  /** Default `email`. */
  usernameClaim?: string;
  /** `-` for no prefix. Default: none for `email`, otherwise the issuer and `#`. */
  usernamePrefix?: string;
  /** Default `groups`. */
  groupsClaim?: string;
  groupsPrefix?: string;
}

/** Algorithms that the API server accepts from an issuer. */
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

/** Minimum time between two reads of the keys because of an unknown key id. */
const rereadAfterMs = 10_000;
const timeoutMs = 5_000;

const discoveryDocument = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
const groupsClaim = z.union([z.array(z.string()), z.string().transform((group) => [group]), z.null().transform((): string[] => [])]);

export class TrustedIssuer {
  readonly #options: IssuerOptions;
  readonly #agent: Agent;
  readonly #now: () => Date;
  #keys: Promise<RemoteJWKSet> | undefined;
  #rereadAt = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerOptions, now: () => Date) {
    const { certificateAuthority: ca } = options;
    this.#options = options;
    this.#now = now;
    this.#agent = new Agent({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs, ...(ca && { ca }) } });
  }

  /** @throws Error for a token that is not of this issuer, not for us, not valid now, or names no user; or if its keys cannot be read */
  async identify(token: string): Promise<Omit<TokenIdentity, 'audiences'>> {
    const keys = await this.#currentKeys();
    const claims = await this.#claimsOf(token, keys).catch(async (error: unknown) => {
      const now = this.#now().getTime();
      if (!(error instanceof errors.JWKSNoMatchingKey) || now - this.#rereadAt < rereadAfterMs) throw error;
      this.#rereadAt = now;
      await keys.reload();
      return this.#claimsOf(token, keys);
    });
    return { user: userOf(claims, this.#options), expiresAt: z.number().parse(claims.exp) };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #claimsOf(token: string, keys: RemoteJWKSet): Promise<JWTPayload> {
    const { url: issuer, audiences } = this.#options;
    const checks = { algorithms, issuer, audience: [...audiences], currentDate: this.#now() };
    try {
      return (await jwtVerify(token, keys, checks)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // A token without a key id may be signed by any of the keys, as in kube-apiserver.
      for await (const key of error) {
        const verified = await jwtVerify(token, key, checks).catch(refusedSignature);
        if (verified) return verified.payload;
      }
      throw error;
    }
  }

  /** Returns the keys. Discovery is repeated until it succeeds: the issuer may start after the cluster. */
  #currentKeys(): Promise<RemoteJWKSet> {
    this.#keys ??= this.#discover().catch((error: unknown) => {
      this.#keys = undefined;
      throw error;
    });
    return this.#keys;
  }

  async #discover(): Promise<RemoteJWKSet> {
    const { url } = this.#options;
    const { body } = await this.#get(`${url.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const { issuer, jwks_uri } = discoveryDocument.parse(await body.json());
    if (issuer !== url) throw new Error(`the issuer ${url} calls itself ${issuer}`);
    return createRemoteJWKSet(new URL(jwks_uri), {
      cooldownDuration: Number.POSITIVE_INFINITY,
      cacheMaxAge: Number.POSITIVE_INFINITY,
      [customFetch]: async (address, { signal }) => {
        const answer = await this.#get(address, signal);
        return new Response(await answer.body.text(), { status: answer.statusCode });
      },
    });
  }

  #get(address: string, signal = AbortSignal.timeout(timeoutMs)) {
    return request(address, { dispatcher: this.#agent, signal });
  }
}

function userOf(claims: JWTPayload, options: IssuerOptions): UserInfo {
  const { url, usernameClaim = 'email', usernamePrefix = usernameClaim === 'email' ? '-' : `${url}#`, groupsPrefix = '' } = options;
  const name = z.string().min(1).parse(claims[usernameClaim]);
  // An address without the claim is trusted.
  if (usernameClaim === 'email' && 'email_verified' in claims && claims.email_verified !== true) throw new Error('email not verified');
  const username = `${usernamePrefix === '-' ? '' : usernamePrefix}${name}`;
  const groups = groupsClaim.parse(claims[options.groupsClaim ?? 'groups'] ?? null).map((group) => `${groupsPrefix}${group}`);
  if ([username, ...groups].some((one) => one.startsWith('system:'))) throw new Error('names of Kubernetes itself are not for issuers');
  return { username, uid: claims.sub ?? '', groups: [...groups, AUTHENTICATED] };
}

function refusedSignature(error: unknown): undefined {
  if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
  return undefined;
}
