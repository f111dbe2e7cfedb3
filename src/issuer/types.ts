/** What the parts of login hand to each other. */
import type { IssuerConfig } from '../config/issuers.ts';

/** How claims become a user. */
export interface ClaimRules extends Readonly<Pick<IssuerConfig, 'claims' | 'extClaims'>> {
  readonly issuer: string;
  /** Whether it is the embedded one, which alone knows who is in the groups that are kept here. Default: it is not. */
  readonly isEmbedded?: boolean;
  /** What the issuer calls values of `acr`, by the name that they have here. */
  readonly acr?: Readonly<Record<string, string>>;
  /** Prefixes of the other issuers: none of their names or groups is given here. */
  readonly foreign?: { readonly usernames: readonly string[]; readonly groups: readonly string[] };
}

/** What is set for one issuer. */
export interface IssuerSettings extends ClaimRules, Readonly<Omit<IssuerConfig, keyof ClaimRules | 'isEmbedded'>> {
  /** Whether there are others beside it. */
  readonly isOneOfSeveral: boolean;
  /** Whether the API server gets the tokens themselves (`kubernetes.credentials: passthrough`); else calls are made in the user's name. */
  readonly isForwarded: boolean;
}

/** Claims of a token whose signature, issuer, audience and times hold (OpenID Connect Core 2). Times are unix seconds. */
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
  /** Whether it can be sent to the issuer; an ID token is for us alone. */
  readonly isAccessToken: boolean;
}

/** The tokens of one login, as a session keeps them. */
export interface TokenSet {
  /** Missing if only an ID token was asked for. */
  readonly accessToken?: string;
  /** The last one that the issuer gave: a renewal need not bring another (OpenID Connect Core 12.2). */
  readonly idToken: string;
  /** Missing if the issuer gave none. */
  readonly refreshToken?: string;
  /** When the service received them, unix seconds. */
  readonly issuedAt: number;
  /** The one of the two that is the credential (`login.bearer`). */
  readonly bearer: string;
  /** Its end, unix seconds. Need not move ahead at a renewal that brings no new credential. */
  readonly bearerExpiresAt: number;
  /** Those of the ID token, and what was missing there from the userinfo endpoint. */
  readonly claims: VerifiedClaims;
  /** Names of claims that the userinfo endpoint told and the credential does not. */
  readonly untold?: readonly string[];
  /** Why the groups of the user are not known, which is not the same as none. */
  readonly groupsUnknown?: 'kept back' | 'not told';
}

/** What a renewal brought to a caller who keeps the tokens. All but the access token may be missing from it. */
export interface RenewedTokens {
  readonly accessToken: string;
  readonly idToken?: string;
  /** The new one, or the one that was sent if the issuer does not rotate. */
  readonly refreshToken: string;
  readonly issuedAt: number;
  /** Missing if the access token is none that is accepted here and no new ID token came: the old credential goes on until its end. */
  readonly bearer?: string;
  readonly bearerExpiresAt?: number;
  readonly claims?: VerifiedClaims | undefined;
  /** The same as in a TokenSet. */
  readonly untold?: readonly string[];
}

/**
 * The issuer has said no, or another person came back: the session is over. `refreshToken` is the new one, to be revoked, if one came.
 * What passes by itself (5xx, 429, no answer) is a StatusError 503 instead.
 */
export class FatalRefresh extends Error {
  override readonly name = 'FatalRefresh';
  readonly refreshToken: string | undefined;

  constructor(message: string, { refreshToken, ...options }: ErrorOptions & { refreshToken?: string | undefined } = {}) {
    super(message, options);
    this.refreshToken = refreshToken;
  }
}
