import type { Endpoint } from './answers.ts';
import type { Claims } from './tokens.ts';

/** The discovery document (OpenID Connect Discovery 1.0). */
export function metadataOf(issuer: string, addressOf: (endpoint: Endpoint) => string): Claims {
  return {
    issuer,
    authorization_endpoint: addressOf('authorize'),
    pushed_authorization_request_endpoint: addressOf('par'),
    token_endpoint: addressOf('token'),
    userinfo_endpoint: addressOf('userinfo'),
    jwks_uri: addressOf('jwks'),
    revocation_endpoint: addressOf('revocation'),
    end_session_endpoint: addressOf('end_session'),
    response_types_supported: ['code', 'id_token', 'code id_token'],
    response_modes_supported: ['query', 'fragment'],
    grant_types_supported: ['authorization_code', 'implicit', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['openid', 'profile', 'email', 'groups', 'offline_access'],
  };
}
