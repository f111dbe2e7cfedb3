import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Browser } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, publicURL } from '../login/support.ts';
import { exchanges, handleOf, type LoggedIn, logout, refresh, session, sessionObject } from '../sessions/support.ts';

const path = '/auth/v1/selfsubjectaccessreviews';
const review = JSON.stringify({ spec: { nonResourceAttributes: { path: '/', verb: 'get' } } });

describe('a request with a session cookie from another site', () => {
  const provider = forSuite(() => TestProvider.start({ tls: true }));
  const cluster = forSuite(() => LoginCluster.start({ trusts: provider }));
  const service = forSuite(() =>
    cluster.service({
      provider,
      config: { server: { corsOrigins: ['https://front.example'] }, kubernetes: { credentials: 'passthrough' } },
    }),
  );
  let jane: LoggedIn;

  before(async () => {
    jane = await session(service);
  });

  const post = (headers: Record<string, string>, body = review) =>
    jane.browser.request(path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

  const allowed: Record<string, Record<string, string>> = {
    'from a page of ours': { 'sec-fetch-site': 'same-origin' },
    'from a page of ours whose Origin a proxy hides': { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    'typed by a person': { 'sec-fetch-site': 'none' },
    'with our own Origin': { origin: publicURL },
    'with an Origin that is listed': { origin: 'https://front.example' },
    'with an Origin that is listed, from another site': { origin: 'https://front.example', 'sec-fetch-site': 'cross-site' },
    'with an Origin that is listed, from a neighbour': { origin: 'https://front.example', 'sec-fetch-site': 'same-site' },
    'with neither header, as curl sends it': {},
  };
  for (const [what, headers] of Object.entries(allowed)) {
    it(`COO-03 is let in ${what}`, async () => {
      const { status, text } = await post(headers);
      expect(status, text).to.equal(201);
    });
  }

  const refused: Record<string, Record<string, string>> = {
    'from another Origin': { origin: 'https://evil.example' },
    'from our Origin with another port': { origin: `${publicURL}:8443` },
    'from a page that has no Origin': { origin: 'null' },
    'from two Origins': { origin: `${publicURL}, https://evil.example` },
    'from another site': { 'sec-fetch-site': 'cross-site' },
    'from another site that writes our Origin': { 'sec-fetch-site': 'cross-site', origin: publicURL },
    'from a neighbour': { 'sec-fetch-site': 'same-site', origin: 'http://evil.console.test' },
    'from a site without a name': { 'sec-fetch-site': '' },
  };
  for (const [what, headers] of Object.entries(refused)) {
    it(`COO-03 is refused ${what}, and nothing happens`, async () => {
      const { status, body } = await post(headers);
      expect(status).to.equal(403);
      expect(body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
    });
    it(`COO-03 is refused ${what} with every method that changes something`, async () => {
      for (const [method, target] of [
        ['PUT', '/auth/v1/users/sync'],
        ['PATCH', `/auth/v1/users/${jane.user}`],
        ['DELETE', '/auth/v1/sessions'],
      ] as const) {
        const reply = await jane.browser.request(target, { method, headers });
        expect(reply.status, `${method} ${target}`).to.equal(403);
        expect(reply.body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
      }
      expect(await sessionObject(cluster.kubernetes, jane.path)).not.to.equal(undefined);
    });
  }

  it('COO-03 creates a user for a page of the console, and none for another site', async () => {
    await cluster.kubernetes.apply(clusterRoleBinding('jane-manages-users', 'cluster-admin', { kind: 'User', name: 'jane@example.com' }));
    const create = (email: string, headers: Record<string, string>) =>
      jane.browser.request('/auth/v1/users', {
        method: 'POST',
        body: JSON.stringify({ spec: { username: email, email, password: 'correct horse battery' } }),
        headers: { 'content-type': 'application/json', ...headers },
      });
    for (const headers of Object.values(refused)) expect((await create('refused@example.com', headers)).status).to.equal(403);
    const { body } = await cluster.kubernetes.call('GET', '/apis/auth.platform.io/v1/users');
    expect(JSON.stringify(body)).not.to.include('refused@example.com');
    for (const [index, headers] of Object.values(allowed).entries()) {
      const reply = await create(`person-${index}@example.com`, headers);
      expect(reply.status, reply.text).to.equal(201);
    }
  });

  it('gets no token, and names none to send', async () => {
    const info = await jane.browser.info('v2');
    expect(info.text).not.to.match(/csrf/i);
    const preflight = await jane.browser.request(path, { method: 'OPTIONS', headers: { origin: 'https://front.example' } });
    expect(preflight.headers.get('access-control-allow-headers')).not.to.match(/csrf/i);
  });

  it('COO-04 does not bypass the check: forms, plain text and method overrides are refused', async () => {
    const ours = { 'sec-fetch-site': 'same-origin' };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      expect((await post({ ...ours, 'content-type': type })).status, type).to.equal(415);
    }
    const override = await post({ ...ours, 'x-http-method-override': 'DELETE' });
    expect(override.status).to.equal(201);
    const get = await jane.browser.request('/api/v2/token/info', { headers: { 'x-http-method-override': 'DELETE' } });
    expect(get.status).to.equal(200);
  });

  it('COO-05 is not allowed by CORS', async () => {
    for (const origin of ['https://evil.example', 'null', 'https://sub.front.example', 'https://front.example.evil']) {
      for (const method of ['OPTIONS', 'GET'] as const) {
        const headers = { origin, 'access-control-request-method': 'POST' };
        const reply = await jane.browser.request('/api/v2/token/info', { method, headers });
        expect(reply.headers.get('access-control-allow-origin'), origin).to.equal(null);
      }
    }
    const listed = await jane.browser.request('/api/v2/token/info', { headers: { origin: 'https://front.example' } });
    expect(listed.headers.get('access-control-allow-origin')).to.equal('https://front.example');
  });

  it('REN-12 does not renew or end the session', async () => {
    for (const ask of [refresh, logout]) {
      const reply = await ask(jane.browser, jane.handle, { headers: { 'sec-fetch-site': 'cross-site' } });
      expect(reply.status).to.equal(403);
      expect(reply.body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
    }
    for (const operation of ['refresh', 'logout']) {
      const body = new URLSearchParams({ refresh_token: jane.handle });
      const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
      const reply = await jane.browser.request(`/api/v2/token/${operation}`, { method: 'POST', body, headers });
      expect(reply.status).to.equal(403);
    }
    expect(exchanges(provider)).to.equal(0);
    expect(await sessionObject(cluster.kubernetes, jane.path)).not.to.equal(undefined);
  });

  it('S17 does not renew or end the session over plain http, where Origin alone tells the page', async () => {
    for (const origin of ['https://evil.example', 'null', `${publicURL}:8443`])
      for (const [method, operation] of [
        ['GET', 'v1/token/refresh'],
        ['GET', 'v2/token/refresh'],
        ['POST', 'v2/token/refresh'],
        ['GET', 'v2/token/logout'],
        ['POST', 'v2/token/logout'],
      ] as const) {
        const proof = new URLSearchParams({ refresh_token: jane.handle });
        const [target, body] = method === 'GET' ? [`/api/${operation}?${proof}`, {}] : [`/api/${operation}`, { body: proof }];
        const reply = await jane.browser.request(target, { method, headers: { origin }, ...body });
        expect(reply.status, `${method} ${operation} ${origin}`).to.equal(403);
        expect(reply.body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
      }
    expect(exchanges(provider)).to.equal(0);
    expect(await sessionObject(cluster.kubernetes, jane.path)).not.to.equal(undefined);
  });

  it('S17 renews and ends the session for a page of the console or a listed one, and without any origin', async () => {
    for (const headers of [{ origin: publicURL }, { origin: 'https://front.example' }, {}]) {
      const theirs = await session(service, { browser: new Browser(service.url) });
      const renewed = await refresh(theirs.browser, theirs.handle, { headers });
      expect(renewed.status, renewed.text).to.equal(200);
      expect((await logout(theirs.browser, handleOf(renewed), { headers })).status).to.equal(200);
      expect(await sessionObject(cluster.kubernetes, theirs.path)).to.equal(undefined);
    }
  });

  it('REN-12 renews and ends the session of a page that is listed, by GET and by POST', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://front.example' };
    const theirs = await session(service, { browser: new Browser(service.url) });
    const renewed = await refresh(theirs.browser, theirs.handle, { headers });
    expect(renewed.status, renewed.text).to.equal(200);
    const body = new URLSearchParams({ refresh_token: handleOf(renewed) });
    const ended = await theirs.browser.request('/api/v2/token/logout', { method: 'POST', headers, body });
    expect(ended.status, ended.text).to.equal(200);
    expect(await sessionObject(cluster.kubernetes, theirs.path)).to.equal(undefined);
  });

  it('is not about bearer tokens, which no browser sends by itself', async () => {
    const token = await cluster.kubernetes.serviceToken();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: 'https://evil.example' };
    const { status } = await new Browser(service.url).request(path, { method: 'POST', body: review, headers });
    expect(status).to.equal(201);
  });

  it('COO-06 does not decide the origin', async () => {
    const spoofed = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' };
    const browser = new Browser(service.url);
    const login = await browser.request('/api/v2/token/login', { headers: spoofed });

    expect(login.text).not.to.include('evil.example');
    expect(login.cookies[0]).not.to.match(/Secure/);
    const requestId = login.headers.get('x-request-id') ?? 'missing';
    const line = await eventually(
      () => service.logLines.find((text) => text.includes('HandleLoginV2') && text.includes(requestId)) ?? '',
      (text) => text !== '',
    );
    expect(line).to.include('"source":"127.0.0.1"').and.not.include('203.0.113.9');
  });
});
