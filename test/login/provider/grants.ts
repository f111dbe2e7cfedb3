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
  readonly #codes = new Map<string, CodeGrant>();
  readonly #refreshTokens = new Map<string, Grant>();
  readonly #accessTokens = new Map<string, Grant>();

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

  issueRefreshToken(grant: Grant): string {
    const token = random();
    this.#refreshTokens.set(token, grant);
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

  isRefreshable(token: string): boolean {
    return this.#refreshTokens.has(token);
  }
}
