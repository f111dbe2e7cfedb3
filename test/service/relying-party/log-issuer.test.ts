/** Login when the issuer is down, slow, or another server. */

import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { expectUnavailable, identityProviderFailed, readiness } from '../login/issuer-unavailable.ts';
import { type Answer, endless, endpoints, hangUp, html, json, never, oauthError, redirect } from '../login/provider/answers.ts';
import { Browser, logIn, type Reply } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, type Service } from '../login/support.ts';

const versions = ['v1', 'v2'] as const;

describe('the issuer, not as it should be', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const providers: TestProvider[] = [];

  async function provided(options: Parameters<typeof TestProvider.start>[0] = {}): Promise<TestProvider> {
    const provider = await TestProvider.start(options);
    providers.push(provider);
    return provider;
  }

  /** Requests that wait while the other tests run. */
  let unanswered: Promise<Reply[]>;

  async function askSilentIssuers(): Promise<Reply[]> {
    const [discovery, tokens, keys] = await Promise.all([provided(), provided(), provided()]);
    discovery.misbehave({ answer: { discovery: never } });
    tokens.misbehave({ answer: { token: never } });
    keys.misbehave({ answer: { jwks: never } });
    const services = await Promise.all([discovery, tokens, keys].map((provider) => cluster.service({ provider })));
    const [silent, ...others] = services;
    return Promise.all([new Browser(silent?.url ?? '').login('v2'), ...others.map(async (service) => (await logIn(service)).callback)]);
  }

  before(async () => {
    unanswered = askSilentIssuers();
    unanswered.catch(() => undefined);
  });
  after(async () => {
    await Promise.all(providers.map((provider) => provider.stop()));
  });

  it('LOG-12 works over https with the authority that the settings name', async () => {
    const service = await cluster.service({ provider: await provided({ tls: true }) });
    expect((await logIn(service)).callback.status).to.equal(200);
  });

  it('LOG-12 refuses a certificate of an unknown authority, and logs the reason for the operator', async () => {
    const provider = await provided({ tls: true });
    const service = await cluster.service({ provider, config: { login: { caFile: undefined } } });
    for (const version of versions) expectUnavailable(await new Browser(service.url).login(version));
    expect(provider.requests).to.deep.equal([]);
    expect(await readiness(service))
      .to.match(identityProviderFailed)
      .and.match(/failed.*: \w*(CERT|TLS|SIGNATURE)\w*$/m);
  });

  it('LOG-12 trusts no certificate that is for another host', async () => {
    const provider = await provided({ tls: true, host: '127.0.0.2' });
    const service = await cluster.service({ provider });
    for (const version of versions) expectUnavailable(await new Browser(service.url).login(version));
    expect(provider.requests).to.deep.equal([]);
    expect(await readiness(service))
      .to.match(identityProviderFailed)
      .and.match(/failed.*: \w*(CERT|TLS|SIGNATURE)\w*$/m);
  });

  for (const [what, change] of Object.entries<(issuer: string) => string | undefined>({
    'another issuer': () => 'https://other.example',
    'a trailing slash': (issuer) => `${issuer}/`,
    'another case': (issuer) => issuer.replace('tenant', 'TENANT'),
    'no issuer': () => undefined,
  })) {
    it(`LOG-13 believes nothing of a discovery document that names ${what}`, async () => {
      const provider = await provided();
      provider.misbehave({ metadata: { issuer: change(provider.issuer) } });
      const service = await cluster.service({ provider });
      const browser = new Browser(service.url);
      for (const version of versions) expectUnavailable(await browser.login(version));
      expect((await browser.info('v2', provider.idToken())).status).to.be.oneOf([401, 503]);
      for (const endpoint of endpoints) if (endpoint !== 'discovery') expect(provider.hits(endpoint), endpoint).to.equal(0);
      expect(provider.hits('elsewhere')).to.equal(0);
    });
  }

  const nonsense: Record<string, Answer> = {
    'HTML with 200': html(),
    'a redirect to another host': redirect(302, 'http://127.0.0.1:9/evil'),
    'a redirect to another path': redirect(302, '/elsewhere'),
    'a redirect that keeps the method, to another path': redirect(308, '/elsewhere'),
    'a redirect that keeps the method': redirect(307, 'http://127.0.0.1:9/evil'),
    '500': oauthError(500, 'server_error'),
    '500 that names a refusal of the grant': oauthError(500, 'invalid_grant'),
    '429': json(429, {}),
    '404': html(404),
    'an empty object': json(200, {}),
    'an array': json(200, []),
    null: json(200, null),
    'a cut connection': hangUp,
    'broken JSON': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":'),
    'a client that it does not know': oauthError(401, 'invalid_client'),
  };

  describe('discovery', () => {
    let provider: TestProvider;
    let service: Service;

    before(async () => {
      provider = await provided();
      provider.misbehave({ answer: { discovery: html(500) } });
      service = await cluster.service({ provider });
      // The readiness check has begun a request, which has ended by now.
      expectUnavailable(await new Browser(service.url).login('v2'));
    });
    beforeEach(() => cluster.clock.freeze());
    afterEach(() => cluster.clock.thaw());

    for (const [what, answer] of Object.entries(nonsense)) {
      it(`LEAK-03 is 503 for ${what}`, async () => {
        // Failures are cached for ten seconds, so that clients cannot overload a failing issuer.
        cluster.clock.advance(11);
        provider.misbehave({ answer: { discovery: answer } });
        provider.forgetRequests();
        for (const version of versions) expectUnavailable(await new Browser(service.url).login(version));
        expectUnavailable(await new Browser(service.url).request('/api/v2/token/redirect'));
        expect(provider.requests.map(({ endpoint }) => endpoint)).to.deep.equal(['discovery']);
      });
    }
  });

  describe('token endpoint', () => {
    let provider: TestProvider;
    let service: Service;

    before(async () => {
      provider = await provided();
      service = await cluster.service({ provider });
    });
    afterEach(() => provider.misbehave());

    for (const [what, answer] of Object.entries(nonsense)) {
      it(`LOG-15 LEAK-03 is 503 for ${what}`, async () => {
        provider.misbehave({ answer: { token: answer } });
        for (const version of versions) {
          provider.forgetRequests();
          const { callback, browser } = await logIn(service, { version });
          expectUnavailable(callback);
          expect([...browser.cookies.keys()]).to.deep.equal([]);
          expect(provider.requests.filter(({ endpoint }) => endpoint !== 'authorize').map(({ endpoint }) => endpoint)).to.not.include(
            'userinfo',
          );
          expect(provider.hits('elsewhere')).to.equal(0);
        }
      });
    }

    it('LOG-15 reads no more than it needs of 20 MB', async () => {
      let sent = 0;
      provider.misbehave({
        answer: {
          token: (response, request) => {
            const socket = response.socket;
            response.once('close', () => {
              sent = socket?.bytesWritten ?? 0;
            });
            endless(20 * 1024 * 1024)(response, request);
          },
        },
      });
      expectUnavailable((await logIn(service)).callback);
      // Bytes in the socket buffers of both sides count as sent.
      await eventually(
        () => sent,
        (bytes) => bytes > 0,
      );
      expect(sent).to.be.below(12 * 1024 * 1024);
    });

    it('LEAK-03 is 503 for keys that cannot be had', async () => {
      const fresh = await cluster.service({ provider });
      for (const answer of [html(), html(500), redirect(302, '/elsewhere'), json(200, { keys: 'none' })]) {
        provider.misbehave({ answer: { jwks: answer } });
        expectUnavailable((await logIn(fresh)).callback);
        expectUnavailable(await new Browser(fresh.url).info('v2', provider.idToken()));
        expect(provider.hits('elsewhere')).to.equal(0);
      }
      provider.misbehave();
      await eventually(
        async () => (await logIn(fresh)).callback.status,
        (status) => status === 200,
      );
    });
  });

  it('LOG-15 may send headers of any bytes, and is asked for answers without a coding', async () => {
    const provider = await provided();
    const service = await cluster.service({ provider });
    const place = { 'x-served-by': 'Z\u00fcrich' };
    provider.misbehave({ claimsOnlyAtUserInfo: true, answer: { userinfo: json(200, provider.person, place) } });
    const { callback } = await logIn(service);
    expect(callback.status).to.equal(200);
    expect(callback.body).to.have.property('name', provider.person.email);
    const calls = provider.requests.filter(({ endpoint }) => endpoint !== 'authorize');
    expect(calls.map(({ endpoint }) => endpoint)).to.include('userinfo');
    for (const { endpoint, headers } of calls) expect(headers['accept-encoding'], endpoint).to.equal('identity');
  });

  it('LOG-15 waits no more than ten seconds for an issuer that says nothing', async () => {
    for (const reply of await unanswered) expectUnavailable(reply);
  });
});
