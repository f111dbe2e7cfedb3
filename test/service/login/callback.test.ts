import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { causesOf, expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { objects } from '../sessions/support.ts';
import { authorize, Browser, logIn, loginInfoOf, type Reply, userInfoOf } from './provider/browser.ts';
import type { LoginCluster } from './support.ts';

const usersPath = '/apis/auth.platform.io/v1/users';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const navigation = { 'sec-fetch-mode': 'navigate', accept: 'text/html' };

interface UserObject {
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}

const person = (email: string, differing: Record<string, unknown> = {}) => ({
  sub: `sub-of-${email}`,
  email,
  email_verified: true,
  name: 'A Person',
  groups: ['dev'],
  ...differing,
});

async function userRecord({ kubernetes }: LoginCluster, email: string): Promise<UserObject | undefined> {
  const { status, body } = await kubernetes.call('GET', `${usersPath}/${recordName(email)}`);
  return status === 200 ? (body as UserObject) : undefined;
}

/** Creates a record like an administrator, and waits until the service has it. */
async function makeUser({ kubernetes }: LoginCluster, email: string, differing: { spec?: object; status?: object } = {}) {
  const metadata = { name: recordName(email) ?? '' };
  const spec = {
    email,
    username: 'Made Before',
    connector_type: '',
    connector_id: '',
    connector_name: '',
    is_admin: false,
    ...differing.spec,
  };
  await kubernetes.call('POST', usersPath, { apiVersion: 'auth.platform.io/v1', kind: 'User', metadata, spec });
  if (differing.status) await kubernetes.call('PATCH', `${usersPath}/${metadata.name}/status`, { status: differing.status }, mergePatch);
}

const hasNoSession = ({ cookies }: Reply) => cookies.every((line) => !line.includes('atrium_session_') || /max-age=0/i.test(line));

describe('the callback', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });
  const jane = person('jane@example.com', { sub: 'jane-1', name: 'Jane Doe', preferred_username: 'jane', groups: ['dev', 'oncall'] });

  beforeEach(() => {
    party().provider.person = jane;
  });

  it('returns the user who has logged in, and keeps the tokens in a session by default', async () => {
    const { service, provider } = party();
    const { callback } = await logIn(service, { parameters: { return_to: '/clusters?tab=1' } });
    expectOK(callback);
    const { token, expires_at, ...ext } = userInfoOf(callback).ext;
    expect(callback.body).to.deep.include({
      name: 'jane@example.com',
      uid: 'jane-1',
      email: 'jane@example.com',
      groups: ['dev', 'oncall'],
    });
    expect(ext).to.deep.equal({
      user: recordName('jane@example.com'),
      display_name: 'Jane Doe',
      connector_id: 'oidc',
      connector_type: 'oidc',
      is_admin: false,
      phase: 'Normal',
      must_change_password: false,
      issuer: provider.issuer,
      token_storage: 'cookie',
      claims: { preferred_username: 'jane', name: 'Jane Doe' },
      return_to: '/clusters?tab=1',
    });
    expect(token).to.have.all.keys('token_type', 'refresh_token', 'issued_at', 'expire_at', 'token_storage');
    expect(token?.expire_at).to.equal(expires_at);
    expect(callback.text).to.not.match(tokenInText);
  });

  it('returns the tokens if the client asked for them', async () => {
    const { callback } = await logIn(party().service, { storage: 'local' });
    const { token } = userInfoOf(callback).ext;
    expect(token).to.have.all.keys('token_type', 'access_token', 'id_token', 'refresh_token', 'issued_at', 'expire_at', 'token_storage');
    // The access token of this issuer is opaque, so the ID token is the credential.
    expect(token?.access_token).to.equal(token?.id_token);
    expect(hasNoSession(callback)).to.equal(true);
  });

  it('uses the access token as the credential if it is a JWT for the service with the same claims', async () => {
    const { provider, service } = party();
    provider.misbehave({ accessTokenAudience: 'atrium' });
    const { callback, browser } = await logIn(service, { storage: 'local' });
    const { token } = userInfoOf(callback).ext;
    const names = ['dev', 'oncall'];
    expect(userInfoOf(await browser.info('v2', token?.access_token)).groups).to.deep.equal(names);
  });

  it('makes the record of the user, and records the login', async () => {
    const { cluster, provider, service } = party();
    provider.person = person('new@example.com', { federated_claims: { connector_id: 'github', user_id: '77' } });
    expectOK((await logIn(service)).callback);
    const { spec, status } = (await userRecord(cluster, 'new@example.com')) ?? {};
    expect(spec).to.deep.include({ email: 'new@example.com', username: 'A Person', connector_id: 'github', is_admin: false });
    expect(spec?.ids).to.deep.equal([{ type: 'github', id: '77' }]);
    expect(status).to.deep.include({ subjectName: 'new@example.com', groups: ['dev'] });
    expect(status?.lastLoginTime).to.be.a('string');
  });

  it('records that the state was used, under its hash', async () => {
    const { cluster, service } = party();
    const { info } = await logIn(service);
    const flows = (await objects(cluster.kubernetes, 'revokedtokens')).filter(({ spec }) => spec.kind === 'Flow');
    expect(flows).to.not.have.length(0);
    expect(JSON.stringify(flows)).to.not.include(info.state);
  });

  for (const [what, { spec, status, reason }] of Object.entries({
    'is disabled': { spec: { is_disabled: true, state: 'inactive' }, status: undefined, reason: 'AccountDisabled' },
    'has expired': { spec: { expired: { end: '2020-01-01T00:00:00Z' } }, status: undefined, reason: 'AccountExpired' },
    'is gone from its source': { spec: { valid: false }, status: undefined, reason: 'AccountInvalid' },
    'is locked': { spec: {}, status: { lockedUntil: '2199-01-01T00:00:00Z' }, reason: 'AccountLocked' },
  })) {
    it(`refuses a user who ${what}`, async () => {
      const { cluster, provider, service } = party();
      const email = `${reason.toLowerCase()}@example.com`;
      await makeUser(cluster, email, { spec, ...(status && { status }) });
      provider.person = person(email);
      const { callback } = await logIn(service);
      expectStatus(callback, 401, reason);
      expect(hasNoSession(callback)).to.equal(true);
      const { details } = callback.body as { details: { retryAfterSeconds?: number } };
      expect(details.retryAfterSeconds !== undefined).to.equal(reason === 'AccountLocked');
      expect((await userRecord(cluster, email))?.status?.lastLoginTime).to.equal(undefined);
    });
  }

  it('does not let an issuer outside log in as a local administrator', async () => {
    const { cluster, provider, service } = party();
    await makeUser(cluster, 'root@example.com', { spec: { is_admin: true, connector_type: 'local', connector_id: 'local' } });
    provider.person = person('root@example.com', { federated_claims: { connector_id: 'local', user_id: '1' } });
    expectStatus((await logIn(service)).callback, 401, 'id_token');
  });

  for (const [what, differing] of Object.entries({
    'an email that is not verified': { email_verified: false },
    'an email that no record can have': { email: 'a@b@example.com' },
    'a user name of Kubernetes itself': { email: 'system:admin' },
  })) {
    it(`lets no user in with ${what}`, async () => {
      const { provider, service } = party();
      provider.person = { ...person('odd@example.com'), ...differing };
      expectStatus((await logIn(service)).callback, 401, 'id_token');
    });
  }

  it('redirects a browser that was sent here itself, instead of showing JSON', async () => {
    const { service } = party();
    for (const [parameters, url] of [
      [{ return_to: '/clusters' }, '/clusters'],
      [{}, '/'],
    ] as const) {
      const browser = new Browser(service.url);
      const info = loginInfoOf(await browser.login('v2', { token_storage: 'cookie', ...parameters }));
      const reply = await browser.request(`/api/v2/token/callback?${await authorize(info.auth_url)}`, { headers: navigation });
      expectOK(reply);
      expect(reply.headers.get('refresh')).to.equal(`0; url=${url}`);
    }
    expect((await logIn(service)).callback.headers.get('refresh')).to.equal(null);
  });

  it('leads a browser that was sent here itself to the start page if the login fails (oauth2-proxy 1888)', async () => {
    const { service } = party();
    const browser = new Browser(service.url);
    const late = loginInfoOf(await browser.login('v2', { token_storage: 'cookie' }));
    const answer = await authorize(late.auth_url);
    expectOK((await logIn(service, { browser })).callback);
    for (const name of browser.cookies.keys()) if (name.includes('atrium_flow_')) browser.cookies.delete(name);

    for (const [path, status] of [
      // Two tabs began a login, and the flow of this one has expired, or the user went back in the history.
      [`/api/v2/token/callback?${answer}`, 400],
      [`/api/v1/token/callback?${answer}`, 400],
      [`/api/v2/token/callback?${new URLSearchParams({ state: late.state, error: 'access_denied' })}`, 400],
      ['/api/v2/token/callback', 400],
      ['/api/v2/token/callback?state=malformed&error=access_denied', 400],
      ['/api/v2/token/redirect?issuer=nobody', 400],
      ['/api/v2/token/redirect?token_storage=nowhere', 400],
    ] as const) {
      const reply = await browser.request(path, { headers: navigation });
      expectStatus(reply, status);
      expect(reply.headers.get('refresh'), path).to.equal('3; url=/');
      expect((await browser.request(path)).headers.get('refresh'), path).to.equal(null);
    }
    expectOK(await browser.info('v2'));
    const redirected = await browser.request('/api/v2/token/redirect', { headers: navigation });
    expect([redirected.status, redirected.headers.get('refresh')]).to.deep.equal([302, null]);
  });

  it('answers no HEAD, which would spend the code', async () => {
    const { provider, service } = party();
    const browser = new Browser(service.url);
    const info = loginInfoOf(await browser.login('v2'));
    const answer = await authorize(info.auth_url);
    provider.forgetRequests();
    const reply = await browser.request(`/api/v2/token/callback?${answer}`, { method: 'HEAD' });
    expect(reply.status).to.equal(405);
    expect(provider.hits('token')).to.equal(0);
    expectOK(await browser.callback('v2', answer));
  });

  it('accepts a login that began at the other version of the interface', async () => {
    const browser = new Browser(party().service.url);
    const info = loginInfoOf(await browser.login('v1'));
    expectOK(await browser.callback('v2', await authorize(info.auth_url)));
  });

  it('requires a code once the flow is known', async () => {
    const browser = new Browser(party().service.url);
    const { state } = loginInfoOf(await browser.login('v2'));
    expectStatus(await browser.callback('v2', { state }), 400, 'code');
  });

  it('is 401 for a code that the issuer does not know', async () => {
    const browser = new Browser(party().service.url);
    const { state } = loginInfoOf(await browser.login('v2'));
    expectStatus(await browser.callback('v2', { state, code: 'made-up' }), 401, 'code');
  });

  it('is 503 while the API server is out of reach, and leaves nothing behind', async () => {
    const { cluster, provider } = party();
    const service = await cluster.service({ provider });
    const before = (await objects(cluster.kubernetes, 'sessions')).length;
    const browser = new Browser(service.url);
    const info = loginInfoOf(await browser.login('v2'));
    const answer = await authorize(info.auth_url);
    await service.relay.cut();
    const reply = await browser.callback('v2', answer);
    expectStatus(reply, 503);
    expect(reply.headers.get('retry-after')).to.match(/^\d+$/);
    expect(hasNoSession(reply)).to.equal(true);
    await service.relay.mend();
    expect(await objects(cluster.kubernetes, 'sessions')).to.have.length(before);
  });
});

describe('the callback, where users are registered ahead', () => {
  const party = relyingParty({ config: { users: { autoProvision: false } } });

  it('refuses a user who is not registered', async () => {
    const { cluster, provider, service } = party();
    provider.person = person('stranger@example.com');
    expectStatus((await logIn(service)).callback, 401, 'id_token');
    expect(await userRecord(cluster, 'stranger@example.com')).to.equal(undefined);
  });

  it('accepts a user who is registered', async () => {
    const { cluster, provider, service } = party();
    await makeUser(cluster, 'expected@example.com');
    provider.person = person('expected@example.com');
    const { callback } = await logIn(service);
    expectOK(callback);
    expect(userInfoOf(callback).ext.display_name).to.equal('Made Before');
  });
});

describe('the callback, where the cluster judges tokens', () => {
  const party = relyingParty();

  it('is 401 if the cluster does not take the token', async () => {
    const { cluster, provider } = party();
    // The cluster takes the user name from the email claim alone.
    const config = { kubernetes: { credentials: 'passthrough' }, login: { claims: { username: 'sub' } } };
    const service = await cluster.service({ provider, config });
    provider.misbehave({ idToken: { claims: { email: undefined } } });
    const { callback } = await logIn(service);
    expectStatus(callback, 401, 'NotAcceptedByCluster');
    expect(causesOf(callback)).to.deep.equal(['NotAcceptedByCluster']);
  });

  it('takes the name from the cluster', async () => {
    const { cluster, provider } = party();
    const service = await cluster.service({ provider, config: { kubernetes: { credentials: 'passthrough' } } });
    const { callback } = await logIn(service);
    expectOK(callback);
    expect(callback.body).to.deep.include({ name: 'jane@example.com', groups: ['dev', 'oncall'] });
  });
});

describe('the callback, where the User resource is not installed', () => {
  const party = relyingParty();

  it('works without records', async () => {
    const { cluster, service } = party();
    await cluster.kubernetes.remove('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/users.auth.platform.io');
    await eventually(
      async () => (await fetch(`${service.metricsURL}/readyz?verbose`)).text(),
      (text) => text.includes('[-]users failed'),
    );
    const { callback, browser } = await logIn(service);
    expectOK(callback);
    expect(userInfoOf(callback).ext).to.not.have.property('phase');
    expectOK(await browser.info('v2'));
  });
});
