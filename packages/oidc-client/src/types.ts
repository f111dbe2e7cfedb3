/** Settings and tokens of a client of one issuer. */
import type { SecretTransport } from './client-authentication.ts';

/** Settings of a client (OpenID Connect Dynamic Client Registration 2 has most of them). */
export interface ClientSettings {
  /** Name of the issuer in metrics and traces. */
  readonly id: string;
  /** Issuer identifier. */
  readonly issuer: string;
  readonly clientID: string;
  /** File of the client secret; undefined for a public client. */
  readonly clientSecretFile?: string | undefined;
  readonly clientAuthentication: SecretTransport;
  /** Algorithm of ID tokens, if the issuer signs with several. */
  readonly idTokenAlgorithm?: string | undefined;
  /** Further audiences whose access tokens are accepted. */
  readonly audiences: readonly string[];
  /** Address of the logout, if the issuer announces none. */
  readonly logoutURL?: string | undefined;
}

/** Claims of a token with verified signature, issuer, audience and times (OpenID Connect Core 2). Times are unix seconds. */
export interface VerifiedClaims {
  readonly iss: string;
  readonly sub: string;
  readonly exp: number;
  readonly iat: number;
  readonly [claim: string]: unknown;
}

/** A bearer token that its issuer's verifier accepts. */
export interface VerifiedToken {
  readonly claims: VerifiedClaims;
  /** The login string that names the user's record (`AccountLookup.find`). */
  readonly login: string;
  /** True for a token that can be sent to the issuer. An ID token is for this service alone. */
  readonly isAccessToken: boolean;
}

/** Tokens of one login in a session. */
export interface TokenSet {
  /** Missing if only an ID token was requested. */
  readonly accessToken?: string;
  /** Latest ID token of the issuer: a renewal need not return another (OpenID Connect Core 12.2). */
  readonly idToken: string;
  /** Missing if the issuer returned none. */
  readonly refreshToken?: string;
  /** Time of receipt, unix seconds. */
  readonly issuedAt: number;
  /** Credential: the access token or the ID token (`login.bearer`). */
  readonly bearer: string;
  /** Expiry of the credential, unix seconds. A renewal without a new credential need not extend it. */
  readonly bearerExpiresAt: number;
  /** Claims of the ID token, with missing claims from the userinfo endpoint. */
  readonly claims: VerifiedClaims;
  /** Names of claims that are known from the userinfo endpoint, and missing from the credential. */
  readonly missingClaims?: readonly string[];
  /** Reason for which the groups of the user are unknown, in contrast to a user without groups. */
  readonly groupsUnknown?: 'kept back' | 'not told';
}

/** Tokens of a renewal for a caller who stores them. Optional members are missing if the issuer returned no new value. */
export interface RenewedTokens {
  readonly accessToken: string;
  readonly idToken?: string;
  /** New refresh token, or the old one if the issuer does not rotate. */
  readonly refreshToken: string;
  readonly issuedAt: number;
  /** Missing if the access token is not accepted here and no new ID token came: the old credential remains valid until it expires. */
  readonly bearer?: string;
  readonly bearerExpiresAt?: number;
  readonly claims?: VerifiedClaims | undefined;
  /** The same as in a TokenSet. */
  readonly missingClaims?: readonly string[];
}

/**
 * The issuer refuses the renewal, or returns tokens of another user: the login has ended. `refreshToken` is a new one to revoke, if any.
 * Temporary failures (5xx, 429, timeout) are reported as StatusError 503.
 */
export class FatalRefresh extends Error {
  override readonly name = 'FatalRefresh';
  readonly refreshToken: string | undefined;

  constructor(message: string, { refreshToken, ...options }: ErrorOptions & { refreshToken?: string | undefined } = {}) {
    super(message, options);
    this.refreshToken = refreshToken;
  }
}
