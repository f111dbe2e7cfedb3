/** Access tokens of the embedded issuer for the MCP door (docs/contract/agents.md). */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import { AgentClient, tokensOf } from './agent.ts';

const password = 'correct horse battery';
const people = ['ada', 'bob', 'cleo', 'dora', 'emil', 'fay'].map((name) => `${name}@example.com`);
const [ada = '', bob = '', cleo = '', dora = '', emil = '', fay = ''] = people;
const redirectURI = 'https://agent.example.com/callback';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('an agent at the embedded issuer', () => {
  const login = forSuite(() =>
    startEmbeddedLogin({
      emails: people,
      password,
      credentials: 'impersonate',
      replicas: 2,
      features: { mcp: true },
      identity: { clients: [{ id: 'helper', name: 'Helper', redirectURLs: [redirectURI] }] },
    }),
  );
  const agent = () => new AgentClient(login, { clientID: 'helper', redirectURI });
  const patchUser = (email: string, patch: object, part = '') =>
    login.admin.call('PATCH', `/apis/auth.platform.io/v1/users/${nameOf(email)}${part}`, patch, mergePatch);
  const untilRefused = (client: AgentClient, token: string, at?: string) =>
    eventually(
      () => client.isAccepted(token, at),
      (isAccepted) => !isAccepted,
    );

  it('asks the person, names itself, and gets a token that both replicas accept', async () => {
    const client = agent();
    const { browser, page } = await client.ask(ada, password);
    expect(page.body).to.include('Helper').and.include(ada).and.include('agent.example.com');
    const tokens = tokensOf(await client.redeem(await browser.submit(page, {})));
    for (const url of login.urls) expect(await client.isAccepted(tokens.access_token, url)).to.equal(true);
  });

  it('asks again each time, also in a browser that is logged in', async () => {
    const client = agent();
    const { browser, page } = await client.ask(ada, password);
    await browser.submit(page, {});
    const again = await browser.get(client.authorizationURL());
    expect(again.response.status).to.equal(200);
    expect(again.body).to.include('Helper');
    const silent = await browser.get(client.authorizationURL({ prompt: 'none' }));
    expect(silent.url.searchParams.get('error')).to.be.a('string');
  });

  it('gets nothing if the person declines', async () => {
    const client = agent();
    const { browser, page } = await client.ask(ada, password);
    const declined = await browser.submit(page, { cancel: 'yes' });
    expect(declined.url.searchParams.get('error')).to.equal('access_denied');
  });

  it('gets no ID token, and no token for userinfo, whatever it asks for', async () => {
    const client = agent();
    const end = await client.permit(ada, password, { differing: { scope: 'openid profile email groups offline_access' } });
    const { status, body } = await client.redeem(end, { resource: '' });
    expect(status).to.equal(200);
    expect(body).to.not.have.property('id_token');
    const { access_token: token } = tokensOf({ status, body });
    expect(await client.isAccepted(token)).to.equal(true);
    for (const path of ['/identity/me', '/api/v1/token/info', '/auth/v1/me', '/api/kubernetes/api/v1/namespaces']) {
      const { status: refused } = await login.request(path, { headers: { authorization: `Bearer ${token}` } });
      expect(refused, path).to.equal(path === '/identity/me' ? 403 : 401);
    }
  });

  it('gets no token for another resource, or for two', async () => {
    const client = agent();
    const { resource } = client;
    for (const given of [`${resource}/`, resource.replace('/mcp', '/MCP'), `${resource}?a=b`, `${login.url}/`, [resource, resource]]) {
      const { url } = await client.browser().get(client.authorizationURL({ resource: given }));
      expect(url.searchParams.get('error'), String(given)).to.equal('invalid_target');
    }
    const tokens = await client.tokens(ada, password);
    const other = await client.refresh(tokens.refresh_token, { resource: `${login.url}/api` });
    expect(other.body.error).to.equal('invalid_target');
  });

  it('is neither the console nor kubectl', async () => {
    for (const [clientID, uri] of [
      ['atrium', `${login.url}/`],
      ['kubectl', 'http://127.0.0.1:8000/callback'],
    ] as const) {
      const { url } = await agent()
        .browser()
        .get(new AgentClient(login, { clientID, redirectURI: uri }).authorizationURL());
      expect(url.searchParams.get('error'), clientID).to.equal('invalid_target');
    }
  });

  it('renews its tokens, and ends when a refresh token is used twice', async () => {
    const client = agent();
    const first = await client.tokens(bob, password);
    const second = tokensOf(await client.refresh(first.refresh_token));
    expect(await client.isAccepted(second.access_token)).to.equal(true);
    expect((await client.refresh(first.refresh_token)).body.error).to.equal('invalid_grant');
    for (const url of login.urls) await untilRefused(client, second.access_token, url);
  });

  it('ends when it revokes its token', async () => {
    const client = agent();
    const tokens = await client.tokens(bob, password);
    expect((await client.post('/identity/token/revocation', { token: tokens.refresh_token })).status).to.equal(200);
    for (const url of login.urls) await untilRefused(client, tokens.access_token, url);
  });

  it('is among the sessions of the person, who ends it at once', async () => {
    const client = agent();
    const tokens = await client.tokens(cleo, password);
    const { browser } = await login.logIn(cleo, password);
    const { items } = JSON.parse((await browser.get(`${login.url}/auth/v1/sessions`)).body);
    const [session] = items.filter(({ spec }: { spec: { agent?: object } }) => spec.agent !== undefined);
    expect(session.spec.agent).to.deep.equal({ client: 'helper', name: 'Helper', host: '' });
    const headers = {
      cookie: browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
      'sec-fetch-site': 'same-origin',
    };
    const path = `/auth/v1/sessions/${session.metadata.name}`;
    expect((await login.request(path, { method: 'DELETE', headers })).status).to.equal(204);
    expect(await client.isAccepted(tokens.access_token, login.urls[0])).to.equal(false);
    for (const url of login.urls) await untilRefused(client, tokens.access_token, url);
    expect((await client.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
  });

  it('ends when the person is disabled', async () => {
    const client = agent();
    const tokens = await client.tokens(dora, password);
    await patchUser(dora, { spec: { is_disabled: true } });
    for (const url of login.urls) await untilRefused(client, tokens.access_token, url);
    expect((await client.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
  });

  it('gets nothing from a page that was open while the logins of the person ended', async () => {
    const client = agent();
    const tokens = await client.tokens(fay, password);
    const { browser, page } = await client.ask(fay, password);
    const end = Math.floor(Date.now() / 1000) * 1000 + 1000;
    await patchUser(fay, { status: { sessionsNotBefore: new Date(end).toISOString() } }, '/status');
    await untilRefused(client, tokens.access_token);
    await eventually(
      async () => Date.now(),
      (now) => now > end + 1000,
    );
    const answer = await browser.submit(page, {});
    expect(answer.url.searchParams.has('code')).to.equal(false);
    expect(answer.body).to.include('name="password"');
  });

  it('ends with the other logins of the person', async () => {
    const client = agent();
    const tokens = await client.tokens(emil, password);
    const later = new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000).toISOString();
    await patchUser(emil, { status: { sessionsNotBefore: later } }, '/status');
    for (const url of login.urls) await untilRefused(client, tokens.access_token, url);
    expect((await client.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
  });
});
