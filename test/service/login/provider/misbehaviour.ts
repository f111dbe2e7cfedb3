import type { JsonWebKey } from 'node:crypto';
import type { Answer, Endpoint } from './answers.ts';
import type { Claims, TokenChange } from './tokens.ts';

/** What the provider does wrong, or just differently. What is not named is done right. */
export interface Misbehaviour {
  /** Endpoints that answer this instead. */
  answer?: Partial<Record<Endpoint, Answer>>;
  /** Laid over the discovery document; undefined takes a member away. */
  metadata?: Claims;
  /** What is published instead of the keys. */
  jwks?: (keys: readonly JsonWebKey[]) => readonly unknown[];
  /** Laid over the parameters of the authorization response; undefined takes one away. */
  response?: Record<string, string | undefined>;
  /** Of every ID token. */
  idToken?: TokenChange;
  /** Of the ID token in the authorization response alone. */
  frontChannel?: TokenChange;
  /** Of the ID token that a code is redeemed for alone. */
  redeemed?: TokenChange;
  /** Of the ID token that comes with a refresh alone. */
  refreshed?: TokenChange | 'absent';
  /** Of every logout token. */
  logoutToken?: TokenChange;
  /** Laid over the body of the token endpoint. */
  tokenAnswer?: Claims;
  /** Laid over the claims of the userinfo endpoint. */
  userInfo?: Claims;
  /** Userinfo comes as a signed JWT. */
  signsUserInfo?: boolean;
  /** Where claims about the person are told. Default: in ID tokens and at userinfo. */
  claimsOnlyAtUserInfo?: boolean;
  /** Access tokens are JWTs of RFC 9068 for this audience. Default: opaque. */
  accessTokenAudience?: string;
  /** A refresh token can be used again and again. Default: each once. */
  keepsRefreshTokens?: boolean;
  /** One for each person and client: the next login ends the refresh token of the one before. */
  oneRefreshTokenEach?: boolean;
  /** How a client proves itself. `plain`: a Basic header that is not percent-decoded. Default: in a Basic header or in the body. */
  clientSecret?: 'plain' | 'body';
}

/** As Dex is: no `iss` in responses, no end of anything from outside, one refresh token for each person and client, which rotates. */
export const asDex: Misbehaviour = {
  metadata: {
    revocation_endpoint: undefined,
    end_session_endpoint: undefined,
    pushed_authorization_request_endpoint: undefined,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    scopes_supported: ['openid', 'email', 'groups', 'profile', 'offline_access'],
  },
  oneRefreshTokenEach: true,
};
