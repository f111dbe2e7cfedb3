import type { JsonWebKey } from 'node:crypto';
import type { Answer, Endpoint, SeenRequest } from './answers.ts';
import type { Claims, TokenChange } from './tokens.ts';

/** Deviations of the provider, wrong or just unusual. Members that are left out stand for correct behaviour. */
export interface Misbehaviour {
  /** Endpoints that answer differently. */
  answer?: Partial<Record<Endpoint, Answer>>;
  /** Returns the promise that the answer to a request waits for. */
  hold?: (request: SeenRequest) => Promise<unknown> | undefined;
  /** Merged into the discovery document; undefined removes a member. */
  metadata?: Claims;
  /** Returns the published keys. */
  jwks?: (keys: readonly JsonWebKey[]) => readonly unknown[];
  /** Merged into the parameters of the authorization response; undefined removes one. */
  response?: Record<string, string | undefined>;
  /** Change of every ID token. */
  idToken?: TokenChange;
  /** Change of the ID token in the authorization response. */
  frontChannel?: TokenChange;
  /** Change of the ID token for which a code is redeemed. */
  redeemed?: TokenChange;
  /** Change of the ID token of a refresh. */
  refreshed?: TokenChange | 'absent';
  /** Change of every logout token. */
  logoutToken?: TokenChange;
  /** Merged into the body of the token endpoint. */
  tokenAnswer?: Claims;
  /** Merged into the claims of the userinfo endpoint. */
  userInfo?: Claims;
  /** True if userinfo is a signed JWT. */
  signsUserInfo?: boolean;
  /** True if claims about the user are at userinfo alone. Default: in ID tokens and at userinfo. */
  claimsOnlyAtUserInfo?: boolean;
  /** Audience of access tokens, which are then JWTs of RFC 9068. Default: opaque tokens. */
  accessTokenAudience?: string;
  /** True if a refresh token can be used many times. Default: once. */
  keepsRefreshTokens?: boolean;
  /** True if each user has one refresh token at a client: the next login revokes the previous one. */
  oneRefreshTokenEach?: boolean;
  /** Client authentication. `plain`: a Basic header that is not percent-decoded. Default: a Basic header or the body. */
  clientSecret?: 'plain' | 'body';
}

/** Behaviour of Dex: no `iss` in responses, no revocation or logout endpoint, one rotating refresh token for each user and client. */
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
