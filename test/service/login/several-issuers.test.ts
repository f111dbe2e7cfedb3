import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { causesOf } from '../relying-party/conformance/relying-party.ts';
import { userInfoOf } from './provider/browser.ts';
import { jane, TwoIssuers } from './two-issuers.ts';

const kim = { sub: 'kim-1', email: 'kim@corp.example', email_verified: true, name: 'Kim', groups: ['dev'] };

const tokenIn = (body: unknown): { access_token?: string; refresh_token?: string } =>
  (body as { ext: { token: Record<string, string> } }).ext.token;

/** docs/contract/login.md */
describe('login where there are several issuers', () => {
  const two = forSuite(() => TwoIssuers.start({ emailDomains: ['corp.example'], acr: { 'urn:atrium:acr:2': 'gold' } }));

  beforeEach(() => {
    two.behave();
    two.corp.person = kim;
    two.corp.forgetRequests();
  });

  it('lists them for a page with a button each', async () => {
    const response = await two.service.request('/api/v2/token/issuers');
    expect(response.status).to.equal(200);
    const items = [
      { id: 'local', name: 'Local users' },
      { id: 'corp', name: 'Corp' },
    ];
    expect(await response.json()).to.deep.equal({ items });
  });

  it('logs people in at either, each by its own claims and prefixes', async () => {
    const here = await two.logInHere();
    expect(here.status, here.text).to.equal(200);
    expect(here.body).to.deep.include({ name: jane, groups: ['dev'] });
    const there = await two.logInAtCorp();
    expect(there.status, there.text).to.equal(200);
    expect(there.body).to.deep.include({ name: 'corp:kim@corp.example', groups: ['corp:dev'] });
    for (const { browser, body } of [here, there]) {
      const info = await two.get(browser, '/api/v2/token/info');
      expect(info.body).to.deep.include({ name: (body as { name: string }).name });
    }
  });

  it('takes bearer tokens of either', async () => {
    for (const { body } of [await two.logInHere('local'), await two.logInAtCorp({ storage: 'local' })]) {
      const info = await two.withBearer(tokenIn(body).access_token ?? '');
      expect(info.status, info.text).to.equal(200);
      expect(info.body).to.deep.include({ name: (body as { name: string }).name });
    }
  });

  it('renews and ends tokens at their issuer', async () => {
    for (const [id, { body, browser }] of [
      ['local', await two.logInHere('local')],
      ['corp', await two.logInAtCorp({ storage: 'local' })],
    ] as const) {
      two.corp.forgetRequests();
      const { refresh_token: seal = '' } = tokenIn(body);
      expect(seal).to.match(new RegExp(`^atr\\.${id}\\.`));
      const renewed = await two.get(browser, `/api/v2/token/refresh?refresh_token=${seal}`);
      expect(renewed.status, renewed.text).to.equal(200);
      const { refresh_token: next = '' } = renewed.body as { refresh_token?: string };
      expect((await two.get(browser, `/api/v2/token/logout?refresh_token=${next}`)).status).to.equal(200);
      expect(two.corp.hits('token') + two.corp.hits('revocation')).to.equal(id === 'corp' ? 2 : 0);
      expect((await two.get(browser, `/api/v2/token/refresh?refresh_token=${next}`)).status).to.equal(401);
    }
  });

  for (const [how, query, isCorp] of [
    ['its id', { issuer: 'corp' }, true],
    ['its id as connector_id', { connector_id: 'corp' }, true],
    ['the domain of login_hint', { login_hint: 'Kim@Corp.example' }, true],
    ['its id, whatever else is said', { issuer: 'local', connector_id: 'corp', login_hint: 'kim@corp.example' }, false],
    ['nothing: the first', {}, false],
    ['what no issuer is called: the first', { connector_id: 'github', login_hint: 'jane@example.com' }, false],
  ] as const)
    it(`is chosen by ${how}`, async () => {
      const reply = await two.get(two.newBrowser(), `/api/v2/token/login?${new URLSearchParams(query)}`);
      const { auth_url: address } = reply.body as { auth_url: string };
      expect(address.startsWith(two.corp.origin)).to.equal(isCorp);
      const isNamed = 'connector_id' in query && query.connector_id === 'corp' && isCorp;
      if (isNamed) expect(new URL(address).searchParams.has('connector_id')).to.equal(false);
    });

  for (const query of ['max_age=300', 'prompt=enrol&factor=totp'])
    it(`is that of the session for ${query}`, async () => {
      const { browser } = await two.logInAtCorp();
      const reply = await two.get(browser, `/api/v2/token/login?${query}`);
      expect((reply.body as { auth_url: string }).auth_url.startsWith(two.corp.origin)).to.equal(true);
    });

  it('refuses an id that there is not', async () => {
    const reply = await two.get(two.newBrowser(), '/api/v2/token/login?issuer=other');
    expect(reply.status).to.equal(400);
    expect(reply.text).to.include('"field":"issuer"');
  });

  it('asks an issuer for a strength by its own name, and takes it by ours', async () => {
    const parameters = { issuer: 'corp', acr_values: 'urn:atrium:acr:2' };
    two.behave({ idToken: { claims: { acr: 'gold', auth_time: Math.floor(Date.now() / 1000) } } });
    const strong = await two.logInAtCorp({ parameters });
    expect(strong.status, strong.text).to.equal(200);
    expect(two.corp.requests.find(({ endpoint }) => endpoint === 'authorize')?.parameters.get('acr_values')).to.equal('gold');
    two.behave({ idToken: { claims: { acr: 'silver' } } });
    expect((await two.logInAtCorp({ parameters })).text).to.include('StepUpNotMet');
  });

  it('does not give a name or group of another issuer', async () => {
    two.corp.person = { ...kim, groups: ['dev', 'local:admins'] };
    const { body, browser } = await two.logInAtCorp();
    expect(body).to.deep.include({ groups: ['corp:dev'] });
    expect((await two.get(browser, '/api/v2/token/info')).body).to.deep.include({ groups: ['corp:dev'] });
  });

  it('ISS-01 refuses an answer without iss, with that of another, or of another issuer, before it requests a token', async () => {
    for (const answered of [{ iss: '' }, { iss: `${two.service.url}/identity` }, { issuer: 'local' }]) {
      const { answer, browser } = await two.begin();
      for (const [name, value] of Object.entries(answered))
        if (value === '') answer.delete(name);
        else answer.set(name, value);
      two.corp.forgetRequests();
      const reply = await two.callback(browser, answer);
      expect(reply.status, reply.text).to.equal(400);
      expect(causesOf({ ...reply, headers: new Headers(), cookies: [] })).to.include(Object.keys(answered)[0]);
      expect(two.corp.hits('token')).to.equal(0);
    }
  });

  it('ISS-01 refuses the code of one issuer in a flow of the other', async () => {
    const browser = two.newBrowser();
    const { answer } = await two.begin({ browser });
    const { body } = await two.get(browser, '/api/v2/token/login?issuer=local');
    answer.set('state', (body as { state: string }).state);
    two.corp.forgetRequests();
    const reply = await two.callback(browser, answer);
    expect(reply.status, reply.text).to.equal(400);
    expect(two.corp.hits('token')).to.equal(0);
  });

  it('ISS-02 keeps the record of one issuer from a user of another with the same address', async () => {
    expect((await two.logInHere()).status).to.equal(200);
    two.corp.person = { ...kim, sub: 'kim-2', email: jane };
    const refused = await two.logInAtCorp();
    expect(refused.status).to.equal(401);
    expect(refused.text).to.include('SubjectDiffers');
    const bearer = await two.withBearer(two.corp.idToken());
    expect(bearer.status).to.equal(401);
    expect(bearer.text).to.include('SubjectDiffers');
    expect((await two.logInHere()).status).to.equal(200);
  });

  it('ISS-06 refuses a refresh token that is marked as that of another issuer, and asks for nothing', async () => {
    const { body, browser } = await two.logInAtCorp({ storage: 'local' });
    const { refresh_token: seal = '' } = tokenIn(body);
    two.corp.forgetRequests();
    const made = seal.slice('atr.corp.'.length);
    for (const token of [
      `atr.local.${made}`,
      `atr.other.${made}`,
      `${seal.slice(0, -4)}AAAA`,
      `atr.corp.made-up`,
      `atr.corp.atr.corp.${made}`,
    ]) {
      const reply = await two.get(browser, `/api/v2/token/refresh?refresh_token=${token}`);
      expect(reply.status, token.slice(0, 12)).to.equal(401);
    }
    expect(two.corp.requests).to.have.length(0);
    const renewed = await two.get(browser, `/api/v2/token/refresh?refresh_token=${seal}`);
    expect(renewed.status, renewed.text).to.equal(200);
  });

  it('ISS-07 ends no login of another issuer by a logout token', async () => {
    const here = await two.logInHere();
    const there = await two.logInAtCorp();
    two.corp.person = { ...kim, sub: userInfoOf({ ...here, headers: new Headers(), cookies: [] }).uid };
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } } as const;
    const tell = (token: string) =>
      two.service.request('/api/v2/token/backchannel-logout', { ...form, body: new URLSearchParams({ logout_token: token }).toString() });
    expect((await tell(two.corp.logoutToken())).status).to.equal(200);
    expect((await two.get(here.browser, '/api/v2/token/info')).status).to.equal(200);
    two.corp.person = kim;
    const forged = two.corp.logoutToken({ claims: { iss: `${two.service.url}/identity` } });
    expect((await tell(forged)).status).to.equal(400);
    expect((await two.get(there.browser, '/api/v2/token/info')).status).to.equal(200);
    expect((await tell(two.corp.logoutToken())).status).to.equal(200);
    expect((await two.get(there.browser, '/api/v2/token/info')).status).to.equal(401);
  });
});

describe('login where one of several issuers was never reached', () => {
  const two = forSuite(() => TwoIssuers.start({ issuer: 'http://127.0.0.1:1/tenant' }));

  it('ISS-08 logs people in at the other, and answers 503 for the first', async () => {
    const { browser, status, text } = await two.logInHere();
    expect(status, text).to.equal(200);
    expect((await two.get(browser, '/api/v2/token/info')).status).to.equal(200);
    expect((await two.service.request('/readyz')).status).to.equal(200);
    expect((await two.get(browser, '/api/v2/token/login?issuer=corp')).status).to.equal(503);
  });
});
