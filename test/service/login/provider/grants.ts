import { hash, randomBytes } from 'node:crypto';
import type { Claims } from './tokens.ts';

/** A granted authorization. */
export interface Grant {
  person: Claims;
  scope: string;
  nonce: string | undefined;
}

interface CodeGrant extends Grant {
  redirectURI: string;
  challenge: string | undefined;
}

const random = () => randomBytes(32).toString('base64url');

/** Codes and tokens that are issued and valid. */
export class Grants {
  readonly #requests = new Map<string, URLSearchParams>();
  readonly #codes = new Map<string, CodeGrant>();
  readonly #refreshTokens = new Map<string, Grant>();
  /** Subjects of refresh tokens, also of revoked ones. */
  readonly #owners = new Map<string, unknown>();
  readonly #accessTokens = new Map<string, Grant>();

  /** Stores a pushed authorization request (RFC 9126). @returns its request URI, which can be used once */
  pushRequest(parameters: URLSearchParams): string {
    const uri = `urn:ietf:params:oauth:request_uri:${random()}`;
    this.#requests.set(uri, parameters);
    return uri;
  }

  takeRequest(uri: string): URLSearchParams | undefined {
    const request = this.#requests.get(uri);
    this.#requests.delete(uri);
    return request;
  }

  issueCode(grant: CodeGrant): string {
    const code = random();
    this.#codes.set(code, grant);
    return code;
  }

  /** Redeems a code. Returns undefined if it was used, or if the redirect URI or the PKCE verifier (RFC 7636 4.6) does not match. */
  redeem(code: string, { redirectURI, verifier }: { redirectURI: string | null; verifier: string | null }): Grant | undefined {
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    if (grant === undefined || grant.redirectURI !== redirectURI) return undefined;
    const isVerified = grant.challenge === undefined ? verifier === null : hash('sha256', verifier ?? '', 'base64url') === grant.challenge;
    return isVerified ? grant : undefined;
  }

  /** @param isOnly true if it replaces all refresh tokens of the user */
  issueRefreshToken(grant: Grant, isOnly = false): string {
    const token = random();
    if (isOnly)
      for (const [other, { person }] of this.#refreshTokens) if (person.sub === grant.person.sub) this.#refreshTokens.delete(other);
    this.#refreshTokens.set(token, grant);
    this.#owners.set(token, grant.person.sub);
    return token;
  }

  refresh(token: string, keepsIt: boolean): Grant | undefined {
    const grant = this.#refreshTokens.get(token);
    if (!keepsIt) this.#refreshTokens.delete(token);
    return grant;
  }

  /** @param token default: a new opaque one */
  rememberAccessToken(grant: Grant, token = random()): string {
    this.#accessTokens.set(token, grant);
    return token;
  }

  whose(accessToken: string): Grant | undefined {
    return this.#accessTokens.get(accessToken);
  }

  revoke(token: string): void {
    this.#refreshTokens.delete(token);
    this.#accessTokens.delete(token);
  }

  /** Returns the `sub` of the user to whom a refresh token was issued, also if it is no longer valid. */
  ownerOf(refreshToken: string): unknown {
    return this.#owners.get(refreshToken);
  }

  isRefreshable(token: string): boolean {
    return this.#refreshTokens.has(token);
  }
}
