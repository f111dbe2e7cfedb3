import { expect } from 'chai';
import { eventually } from '../support/cluster-admin.ts';
import { Browser } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { exchanges, type LoggedIn, logout, refresh, session, sessionObject } from './session-support.ts';
import { LoginCluster, publicURL, type Service } from './support.ts';

const path = '/auth/v1/selfsubjectaccessreviews';
const review = JSON.stringify({ spec: { nonResourceAttributes: { path: '/', verb: 'get' } } });

describe('a request with a session cookie from another site', () => {
  let provider: TestProvider;
  let cluster: LoginCluster;
  let service: Service;
  let jane: LoggedIn;

  before(async () => {
    provider = await TestProvider.start({ tls: true });
    cluster = await LoginCluster.start({ trusts: provider });
    service = await cluster.service({
      provider,
      config: { server: { corsOrigins: ['https://front.example'] }, kubernetes: { credentials: 'passthrough' } },
    });
    jane = await session(service);
  });
  after(async () => {
    await cluster?.stop();
    await provider?.stop();
  });

  const post = (headers: Record<string, string>, body = review) =>
    jane.browser.request(path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

  const allowed: Record<string, Record<string, string>> = {
    'from a page of ours': { 'sec-fetch-site': 'same-origin' },
    'typed by a person': { 'sec-fetch-site': 'none' },
    'with our own Origin': { origin: publicURL },
    'with an Origin that is listed': { origin: 'https://front.example', 'sec-fetch-site': 'cross-site' },
  };
  for (const [what, headers] of Object.entries(allowed)) {
    it(`is let in ${what} and with the value of the session`, async () => {
      const { status, text } = await post({ ...headers, 'x-csrf-token': jane.csrf });
      expect(status, text).to.equal(201);
    });
    it(`COO-03 is refused ${what} without that value, or with another`, async () => {
      for (const value of [undefined, '', 'x'.repeat(43), jane.csrf.slice(1), `${jane.csrf}x`, 'é']) {
        const { status, body } = await post({ ...headers, ...(value !== undefined && { 'x-csrf-token': encodeURI(value) }) });
        expect(status, value).to.equal(403);
        expect(body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
      }
    });
  }

  const refused: Record<string, Record<string, string>> = {
    'from another Origin': { origin: 'https://evil.example' },
    'from a page that has no Origin': { origin: 'null' },
    'from nowhere': {},
    'from another site': { 'sec-fetch-site': 'cross-site' },
    'from a neighbour': { 'sec-fetch-site': 'same-site', origin: 'http://evil.console.test' },
  };
  for (const [what, headers] of Object.entries(refused)) {
    it(`COO-03 is refused ${what}, even with the value`, async () => {
      const { status, body } = await post({ ...headers, 'x-csrf-token': jane.csrf });
      expect(status).to.equal(403);
      expect(body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
    });
  }

  it('COO-04 is no way around: forms, plain text and method overrides are refused', async () => {
    const ours = { 'sec-fetch-site': 'same-origin', 'x-csrf-token': jane.csrf };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      expect((await post({ ...ours, 'content-type': type })).status, type).to.equal(415);
    }
    const override = await post({ ...ours, 'x-http-method-override': 'DELETE' });
    expect(override.status).to.equal(201);
    const get = await jane.browser.request('/api/v2/token/info', { headers: { 'x-http-method-override': 'DELETE' } });
    expect(get.status).to.equal(200);
  });

  it('COO-05 gets no leave from CORS', async () => {
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

  it('REN-12 neither renews nor ends the session', async () => {
    for (const ask of [refresh, logout]) {
      const reply = await ask(jane.browser, jane.handle, { headers: { 'sec-fetch-site': 'cross-site' } });
      expect(reply.status).to.equal(403);
      expect(reply.body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
    }
    for (const operation of ['refresh', 'logout']) {
      const body = new URLSearchParams({ refresh_token: jane.handle });
      const headers = { 'sec-fetch-site': 'same-origin' };
      const reply = await jane.browser.request(`/api/v2/token/${operation}`, { method: 'POST', body, headers });
      expect(reply.status).to.equal(403);
    }
    expect(exchanges(provider)).to.equal(0);
    expect(await sessionObject(cluster.kubernetes, jane.path)).not.to.equal(undefined);
  });

  it('is not about bearer tokens, which no browser sends by itself', async () => {
    const token = await cluster.kubernetes.serviceToken();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: 'https://evil.example' };
    const { status } = await new Browser(service.url).request(path, { method: 'POST', body: review, headers });
    expect(status).to.equal(201);
  });

  it('COO-06 has no say in where it comes from', async () => {
    const spoofed = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' };
    const browser = new Browser(service.url);
    const login = await browser.request('/api/v2/token/login', { headers: spoofed });

    expect(login.text).not.to.include('evil.example');
    expect(login.cookies[0]).not.to.match(/Secure/);
    const line = await eventually(
      () => service.logLines.filter((text) => text.includes('HandleLoginV2')).at(-1) ?? '',
      (text) => text !== '',
    );
    expect(line).to.include('"source":"127.0.0.1"').and.not.include('203.0.113.9');
  });
});
