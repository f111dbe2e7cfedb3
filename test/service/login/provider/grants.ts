import { hash, randomBytes } from 'node:crypto';
import type { Claims } from './tokens.ts';

/** What a person agreed to, once. */
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

/** Codes and tokens that were given out and still count. */
export class Grants {
  readonly #requests = new Map<string, URLSearchParams>();
  readonly #codes = new Map<string, CodeGrant>();
  readonly #refreshTokens = new Map<string, Grant>();
  /** Whose a refresh token is or was. */
  readonly #owners = new Map<string, unknown>();
  readonly #accessTokens = new Map<string, Grant>();

  /** Keeps a request that a client has pushed (RFC 9126). @returns what stands for it, once */
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

  /** Undefined if it was used, or the redirect URI or the PKCE verifier (RFC 7636 4.6) is not the one of the request. */
  redeem(code: string, { redirectURI, verifier }: { redirectURI: string | null; verifier: string | null }): Grant | undefined {
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    if (grant === undefined || grant.redirectURI !== redirectURI) return undefined;
    const isVerified = grant.challenge === undefined ? verifier === null : hash('sha256', verifier ?? '', 'base64url') === grant.challenge;
    return isVerified ? grant : undefined;
  }

  /** @param isOnly whether it takes the place of all others of the person */
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

  /** @param token an opaque one is made if it is not given */
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

  /** The `sub` of the person that a refresh token was given for, also when it does not count any more. */
  ownerOf(refreshToken: string): unknown {
    return this.#owners.get(refreshToken);
  }

  isRefreshable(token: string): boolean {
    return this.#refreshTokens.has(token);
  }
}
