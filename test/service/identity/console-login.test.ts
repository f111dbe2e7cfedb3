import { expect } from 'chai';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';

const jane = { email: 'jane@example.com', password: 'correct horse battery' };

/** Returns the parameters that a front-end passes on if it knows only the documented ones. */
const documented = (answer: URLSearchParams) =>
  new URLSearchParams([...answer].filter(([name]) => ['code', 'state', 'id_token'].includes(name)));

describe('login at the embedded issuer', () => {
  const login = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password }));

  for (const version of ['v1', 'v2']) {
    it(`LOG-11 ends with code and state alone (${version})`, async () => {
      const { browser, back } = await login.authorize(jane.email, jane.password);
      expect(back.searchParams.get('iss'), 'the issuer announces and sends it').to.equal(`${login.url}/identity`);
      const { response, body } = await browser.get(`${login.url}/api/${version}/token/callback?${documented(back.searchParams)}`);
      expect(response.status, body).to.equal(200);
      expect(JSON.parse(body)).to.include({ name: jane.email });
    });

    it(`ends at the callback address itself, where the client asks for that (${version})`, async () => {
      const callback = `${login.url}/api/${version}/token/callback`;
      const { browser, back } = await login.authorize(jane.email, jane.password, `?redirect_uri=${encodeURIComponent(callback)}`);
      expect(back.origin + back.pathname).to.equal(callback);
      const { response, body } = await browser.get(back);
      expect(response.status, body).to.equal(200);
      expect(JSON.parse(body)).to.include({ name: jane.email });
    });
  }

  it('LOG-11 refuses the name of another issuer', async () => {
    const { browser, back } = await login.authorize(jane.email, jane.password);
    back.searchParams.set('iss', 'https://other.example');
    const { response, body } = await browser.get(`${login.url}/api/v2/token/callback${back.search}`);
    expect(response.status).to.equal(400);
    expect(JSON.parse(body).details.causes[0]).to.include({ field: 'iss' });
  });
});

describe('login at the embedded issuer, by the ID token flow', () => {
  let login: EmbeddedLogin;

  before(async () => {
    const settings = { responseMode: 'id_token', requireIss: true };
    login = await startEmbeddedLogin({ emails: [jane.email], password: jane.password, login: settings });
  });
  after(() => login.stop());

  for (const version of ['v1', 'v2']) {
    it(`LOG-11 succeeds without iss, which the issuer rightly leaves out (${version})`, async () => {
      const { browser, back } = await login.authorize(jane.email, jane.password);
      const answer = new URLSearchParams(back.hash.slice(1));
      expect([...answer.keys()])
        .to.include.members(['id_token', 'state'])
        .and.to.not.include('iss');
      const query = documented(answer);
      query.set('code', '');
      const { response, body } = await browser.get(`${login.url}/api/${version}/token/callback?${query}`);
      expect(response.status, body).to.equal(200);
      expect(JSON.parse(body)).to.deep.include({ name: jane.email, groups: ['dev'] });
    });
  }
});

describe('login at the embedded issuer, where sub is the user name', () => {
  let login: EmbeddedLogin;

  before(async () => {
    const settings = { claims: { username: 'sub' } };
    login = await startEmbeddedLogin({ emails: [jane.email], password: jane.password, credentials: 'impersonate', login: settings });
  });
  after(() => login.stop());

  it('REC-05 finds the record by its address, which the issuer sends without calling it verified', async () => {
    const { status, body } = await login.logIn(jane.email, jane.password, '?token_storage=local');

    expect(status, body).to.equal(200);
    const { email, ext } = JSON.parse(body);
    expect(email).to.equal(jane.email);
    expect(ext.user).to.equal(nameOf(jane.email));
    const me = await login.request('/auth/v1/me', { headers: { authorization: `Bearer ${ext.token.access_token}` } });
    expect(me.status, await me.text()).to.equal(200);
    const { body: users } = await login.admin.call('GET', '/apis/auth.platform.io/v1/users');
    expect((users as { items: unknown[] }).items).to.have.length(1);
  });
});
