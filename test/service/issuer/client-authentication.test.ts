import { expect } from 'chai';
import { authorize, Browser, logIn, loginInfoOf } from '../login/provider/browser.ts';
import { expectLogIn, expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';

/** A secret with all unreserved characters of a URL, which openid-client would percent-encode. */
const unreserved = 'a-client.secret_with~every-unreserved.one_9';
const config = { login: { perMinute: 1_000_000 } };

const authorizations = (requests: readonly { endpoint: string; headers: { authorization?: string | undefined } }[]) =>
  requests.filter(({ endpoint }) => endpoint === 'token').map(({ headers }) => headers.authorization);

describe('login as a client with a secret', () => {
  const party = relyingParty({ clientSecret: unreserved, config });

  it('sends unreserved characters as they are, for issuers that do not decode the header', async () => {
    const { provider, service } = party();
    provider.misbehave({ clientSecret: 'plain' });
    await expectLogIn(service, { flow: 'code', version: 'v2', storage: 'cookie' });
    expect(authorizations(provider.requests)).to.deep.equal([`Basic ${btoa(`atrium:${unreserved}`)}`]);
  });

  it('works with issuers that decode the header', async () => {
    await expectLogIn(party().service, { flow: 'code', version: 'v1', storage: 'local' });
  });

  it('is 503 at an issuer that requires the secret in the body, until login.clientAuthentication is set', async () => {
    const { cluster, provider, service } = party();
    provider.misbehave({ clientSecret: 'body' });
    expectStatus((await logIn(service)).callback, 503);
    const posting = await cluster.service({ provider, config: { login: { ...config.login, clientAuthentication: 'post' } } });
    provider.forgetRequests();
    await expectLogIn(posting, { flow: 'code', version: 'v2', storage: 'cookie' });
    expect(authorizations(provider.requests)).to.deep.equal([undefined]);
  });
});

describe('login as a client whose secret has characters that must be encoded', () => {
  const party = relyingParty({ clientSecret: 'a:b c+d%e&f=ü/!*()', config });

  it('encodes them as a form does', async () => {
    await expectLogIn(party().service, { flow: 'code', version: 'v2', storage: 'cookie' });
  });
});

describe('login at an issuer that requires pushed authorization requests (RFC 9126)', () => {
  const metadata = { require_pushed_authorization_requests: true };
  const party = relyingParty({ clientSecret: unreserved, config, prepare: (provider) => provider.misbehave({ metadata }) });

  beforeEach(() => party().provider.misbehave({ metadata }));

  it('sends the browser to the issuer with a reference, and completes the login as usual', async () => {
    const { provider, service } = party();
    for (const version of ['v1', 'v2'] as const) {
      const browser = new Browser(service.url);
      const info = loginInfoOf(await browser.login(version, { prompt: 'login' }));
      const asked = new URL(info.auth_url).searchParams;
      expect([...asked.keys()].sort()).to.deep.equal(['client_id', 'request_uri']);
      const pushed = provider.requests.find(({ endpoint }) => endpoint === 'par')?.parameters;
      expect(pushed?.get('code_challenge_method')).to.equal('S256');
      expect(pushed?.get('prompt')).to.equal('login');
      expectOK(await browser.callback(version, await authorize(info.auth_url)));
      provider.forgetRequests();
    }
  });

  it('is 503 where the request is refused', async () => {
    const { provider, service } = party();
    provider.misbehave({ metadata, clientSecret: 'body' });
    expectStatus(await new Browser(service.url).login('v2'), 503);
  });

  it('pushes nothing where that is not demanded', async () => {
    const { cluster, provider } = party();
    provider.misbehave();
    const service = await cluster.service({ provider, config });
    provider.forgetRequests();
    expectOK((await logIn(service)).callback);
    expect(provider.hits('par')).to.equal(0);
  });
});
