import { asDex, type Misbehaviour } from './provider/misbehaviour.ts';
import type { Claims } from './provider/tokens.ts';

/** Answers of an issuer of the field as it is known to give them, played by the scripted issuer. The service itself was not called. */
export interface IssuerProfile {
  /** Settings that docs/issuers.md gives. */
  login: Record<string, unknown>;
  /** Claims of the ID token. */
  person: Claims;
  plays: Misbehaviour;
  expected: {
    name: string;
    groups: readonly string[];
    isRenewed: boolean;
    /** Parameters of its logout address. Undefined without one. */
    logout: readonly string[] | undefined;
  };
}

const uuid = (index: number) => `3f2504e0-4f89-11d3-9a0c-${String(index).padStart(12, '0')}`;
const fullLogout = ['client_id', 'id_token_hint', 'post_logout_redirect_uri', 'state'];
const none = { email: undefined, email_verified: undefined, groups: undefined, preferred_username: undefined, name: undefined };

export const profiles: Record<string, IssuerProfile> = {
  'Entra ID': {
    login: { scopes: ['openid', 'profile', 'email', 'offline_access'], claims: { username: 'oid', usernamePrefix: 'entra:' } },
    person: {
      ...none,
      sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      oid: uuid(1),
      tid: uuid(2),
      ver: '2.0',
      name: 'Abe Lincoln',
      preferred_username: 'AbeLi@example.com',
      groups: [uuid(3), uuid(4)],
    },
    plays: {
      metadata: { revocation_endpoint: undefined, pushed_authorization_request_endpoint: undefined },
      tokenAnswer: { ext_expires_in: 3599 },
      userInfo: { groups: undefined, oid: undefined },
    },
    expected: { name: `entra:${uuid(1)}`, groups: [uuid(3), uuid(4)], isRenewed: true, logout: fullLogout },
  },
  Okta: {
    login: { scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'] },
    person: {
      ...none,
      sub: '00uid4BxXw6I6TV4m0g3',
      email: 'okta@example.com',
      email_verified: true,
      preferred_username: 'okta@example.com',
      groups: ['Everyone', 'dev'],
      amr: ['pwd'],
      idp: '00ok1u7AsAkrwdZL3z0g3',
    },
    plays: { keepsRefreshTokens: true },
    expected: { name: 'okta@example.com', groups: ['Everyone', 'dev'], isRenewed: true, logout: fullLogout },
  },
  Google: {
    login: { scopes: ['openid', 'email', 'profile'] },
    person: {
      ...none,
      sub: '110169484474386276334',
      email: 'google@example.com',
      email_verified: true,
      hd: 'example.com',
      name: 'Goo Gle',
      picture: 'https://images.example.com/p.jpg',
    },
    plays: {
      metadata: { end_session_endpoint: undefined, pushed_authorization_request_endpoint: undefined },
      userInfo: { groups: undefined },
    },
    expected: { name: 'google@example.com', groups: [], isRenewed: false, logout: undefined },
  },
  Cognito: {
    login: {
      scopes: ['openid', 'email', 'profile'],
      claims: { username: 'email', groups: 'cognito:groups' },
      logoutURL: 'https://login.example.com/logout?client_id=atrium&logout_uri=https%3A%2F%2Fconsole.example.com%2F',
    },
    person: {
      ...none,
      sub: uuid(5),
      email: 'cognito@example.com',
      email_verified: true,
      'cognito:username': uuid(5),
      'cognito:groups': ['dev'],
      token_use: 'id',
      event_id: uuid(6),
    },
    plays: {
      metadata: { end_session_endpoint: undefined, pushed_authorization_request_endpoint: undefined },
      userInfo: { email_verified: 'true' },
    },
    expected: { name: 'cognito@example.com', groups: ['dev'], isRenewed: false, logout: ['client_id', 'logout_uri'] },
  },
  'AD FS': {
    login: { scopes: ['openid', 'allatclaims', 'offline_access'], claims: { username: 'upn', usernamePrefix: 'adfs:' } },
    person: {
      ...none,
      sub: '3fUvH4Y2c2Y1HhZ0vS0l0b2H8kX3m1c=',
      upn: 'adfs@corp.example.com',
      unique_name: 'CORP\\adfs',
      apptype: 'Confidential',
      authmethod: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
      groups: 'Domain Users',
    },
    plays: {
      metadata: { revocation_endpoint: undefined, pushed_authorization_request_endpoint: undefined },
      tokenAnswer: { resource: 'urn:microsoft:userinfo', refresh_token_expires_in: 28_799 },
      userInfo: { upn: undefined, groups: undefined, unique_name: undefined },
    },
    expected: { name: 'adfs:adfs@corp.example.com', groups: ['Domain Users'], isRenewed: true, logout: fullLogout },
  },
  Keycloak: {
    login: { scopes: ['openid', 'profile', 'email', 'offline_access'] },
    person: {
      ...none,
      sub: uuid(7),
      email: 'keycloak@example.com',
      email_verified: true,
      preferred_username: 'keycloak',
      typ: 'ID',
      sid: uuid(8),
      acr: '1',
      groups: ['/dev', '/ops/night'],
    },
    plays: {
      metadata: { authorization_response_iss_parameter_supported: true, backchannel_logout_supported: true },
      tokenAnswer: { refresh_expires_in: 1800, 'not-before-policy': 0, session_state: uuid(8) },
    },
    expected: { name: 'keycloak@example.com', groups: ['/dev', '/ops/night'], isRenewed: true, logout: fullLogout },
  },
  Dex: {
    login: { scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'] },
    person: { ...none, sub: 'CiQwOGE4Njg0', email: 'dex@example.com', email_verified: true, name: 'dex', groups: ['authors'] },
    plays: asDex,
    expected: { name: 'dex@example.com', groups: ['authors'], isRenewed: true, logout: undefined },
  },
  'GitHub through Dex': {
    login: { scopes: ['openid', 'profile', 'email', 'groups', 'offline_access', 'federated:id'] },
    person: {
      ...none,
      sub: 'CgcyMzQyNzQ5EgZnaXRodWI',
      email: 'octo@example.com',
      email_verified: true,
      // A user of GitHub need not have a name.
      name: '',
      preferred_username: 'octocat',
      groups: ['example-org:team-a', 'example-org:team-b'],
      federated_claims: { connector_id: 'github', user_id: '2342749' },
    },
    plays: asDex,
    expected: { name: 'octo@example.com', groups: ['example-org:team-a', 'example-org:team-b'], isRenewed: true, logout: undefined },
  },
};
