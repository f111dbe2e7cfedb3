import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { expect } from 'chai';
import { authorize, Browser, logIn, loginInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { publicURL } from '../login/support.ts';
import { causesOf, expectOK, expectStatus, relyingParty } from './conformance/relying-party.ts';

const versions = ['v1', 'v2'] as const;
const unlimited = { login: { perMinute: 1_000_000 } };

const flowCookiesOf = (browser: Browser) => [...browser.cookies.keys()].filter((name) => name.includes('atrium_flow_'));

describe('callback', () => {
  const party = relyingParty({ config: unlimited });

  /** Begins a flow, up to the redirect of the provider. */
  async function answered() {
    const { provider, service } = party();
    const browser = new Browser(service.url);
    const info = loginInfoOf(await browser.login('v2'));
    const answer = await authorize(info.auth_url);
    provider.forgetRequests();
    return { browser, info, code: answer.get('code') ?? '', state: answer.get('state') ?? '' };
  }

  const forms: Record<string, (code: string, state: string) => string> = {
    'no code': (_code, state) => `state=${state}`,
    'no state': (code) => `code=${code}`,
    neither: () => '',
    'both empty': () => 'code=&state=',
    'an empty code': (_code, state) => `code=&state=${state}`,
    'a code twice': (code, state) => `code=${code}&code=b&state=${state}`,
    'a state twice': (code, state) => `code=${code}&state=${state}&state=${state}`,
    'an ID token twice': (code, state) => `code=${code}&state=${state}&id_token=a&id_token=b`,
    'an issuer twice': (code, state) => `code=${code}&state=${state}&iss=a&iss=b`,
    'a short state': (code, state) => `code=${code}&state=${state.slice(0, 42)}`,
    'a long state': (code, state) => `code=${code}&state=${state}a`,
    'a state of the prototype': (code) => `code=${code}&state=__proto__`,
  };
  for (const version of versions) {
    for (const [what, form] of Object.entries(forms)) {
      it(`LOG-03 refuses ${what} (${version})`, async () => {
        const { browser, code, state } = await answered();
        expectStatus(await browser.request(`/api/${version}/token/callback?${form(code, state)}`), 400);
        expect(party().provider.requests).to.deep.equal([]);
      });
    }

    it(`LOG-04 refuses a state that was never issued (${version})`, async () => {
      const { browser, code } = await answered();
      const reply = await browser.callback(version, { code, state: 'A'.repeat(43) });
      expectStatus(reply, 400, 'state');
      expect(reply.body).to.have.property('message').that.includes('invalid authentication session');
      expect(party().provider.requests).to.deep.equal([]);
    });

    it(`LOG-04 refuses a state from another browser (${version})`, async () => {
      const { code, state } = await answered();
      expectStatus(await new Browser(party().service.url).callback(version, { code, state }), 400, 'state');
      expect(party().provider.requests).to.deep.equal([]);
    });
  }

  it('LOG-04 refuses the state of another flow of the same browser that has the cookie of this flow', async () => {
    const { browser, code, state } = await answered();
    const other = loginInfoOf(await browser.login('v2'));
    const sealed = browser.cookies.get(`${cookieNames(publicURL).host('flow')}_${state.slice(0, 8)}`) ?? '';
    browser.cookies.set(`${cookieNames(publicURL).host('flow')}_${other.state.slice(0, 8)}`, sealed);
    expectStatus(await browser.callback('v2', { code, state: other.state }), 400, 'state');
    expect(party().provider.hits('token')).to.equal(0);
  });

  it('LOG-07 refuses a flow cookie with any one bit flipped, cut short, or emptied', async () => {
    const { browser, code, state } = await answered();
    const name = `${cookieNames(publicURL).host('flow')}_${state.slice(0, 8)}`;
    const sealed = browser.cookies.get(name) ?? '';
    const flip = (at: number) => `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
    const spoiled = [
      ...Array.from({ length: 24 }, (_, turn) => flip(Math.floor((turn * (sealed.length - 1)) / 23))),
      sealed.slice(0, -5),
      sealed.slice(9),
      '',
      '.',
      '....',
      '%',
      '"',
      'a'.repeat(4000),
    ];
    for (const value of spoiled) {
      browser.cookies.set(name, value);
      expectStatus(await browser.callback('v2', { code, state }), 400, 'state');
    }
    expect(party().provider.hits('token')).to.equal(0);
  });

  it('LOG-07 refuses a flow cookie that was sealed with the keys of another installation', async () => {
    const { cluster, provider, service } = party();
    const other = await cluster.service({ provider, config: { login: { keysSecret: 'keys-of-another' } } });
    const browser = new Browser(other.url);
    const info = loginInfoOf(await browser.login('v2'));
    const foreign = new Browser(service.url);
    for (const [name, value] of browser.cookies) foreign.cookies.set(name, value);
    expectStatus(await foreign.callback('v2', await authorize(info.auth_url)), 400, 'state');
    expect(provider.hits('token')).to.equal(0);
  });

  it('LOG-07 copes with two flow cookies of one name, the bad one first', async () => {
    const { browser, code, state } = await answered();
    const name = `${cookieNames(publicURL).host('flow')}_${state.slice(0, 8)}`;
    const cookie = `${name}=bad; ${name}=${browser.cookies.get(name)}`;
    const reply = await browser.request(`/api/v2/token/callback?${new URLSearchParams({ code, state })}`, { headers: { cookie } });
    expect(reply.status, reply.text).to.be.oneOf([200, 400]);
  });

  it('LOG-08 takes a callback once', async () => {
    const { browser, code, state } = await answered();
    const before = new Map(browser.cookies);
    expect((await browser.callback('v1', { code, state })).status).to.equal(200);
    for (const version of versions) {
      const again = new Browser(party().service.url);
      for (const [name, value] of before) again.cookies.set(name, value);
      expectStatus(await again.callback(version, { code, state }), 400);
    }
    expect(party().provider.hits('token')).to.equal(1);
  });

  it('LOG-08 takes one of ten callbacks that come at once', async () => {
    const { browser, code, state } = await answered();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => {
        const copy = new Browser(party().service.url);
        for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
        return copy.callback('v2', { code, state });
      }),
    );
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1);
    for (const reply of replies) expect(reply.status).to.be.oneOf([200, 400, 401]);
  });

  it('LOG-08 takes one of ten callbacks on two replicas, also where no code is there to be used up', async () => {
    const { cluster, provider } = party();
    const config = { login: { responseMode: 'id_token' } };
    const replicas = [await cluster.service({ provider, config }), await cluster.service({ provider, config })];
    const [first] = replicas;
    const browser = new Browser(first?.url ?? '');
    const answer = await authorize(loginInfoOf(await browser.login('v2')).auth_url);
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => replicas)
        .flat()
        .map(({ url }) => {
          const copy = new Browser(url);
          for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
          return copy.callback('v2', answer);
        }),
    );
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1);
    for (const reply of replies) if (reply.status !== 200) expectStatus(reply, 400, 'state');
  });

  it('LOG-08 takes no callback eleven minutes after the login', async () => {
    const { cluster, provider } = party();
    const { browser, code, state } = await answered();
    cluster.clock.advance(11 * 60);
    expectStatus(await browser.callback('v2', { code, state }), 400, 'state');
    expect(provider.hits('token')).to.equal(0);
    expect((await logIn(party().service)).callback.status, 'and a new one works').to.equal(200);
  });

  const script = '<script>alert(1)</script>';
  for (const [error, code] of Object.entries({
    access_denied: 401,
    login_required: 401,
    consent_required: 401,
    interaction_required: 401,
    account_selection_required: 401,
    server_error: 400,
    temporarily_unavailable: 400,
    invalid_scope: 400,
  })) {
    it(`LOG-09 answers ${error} with ${code}, without the words of the issuer`, async () => {
      const { browser, state } = await answered();
      const reply = await browser.callback('v2', { error, error_description: script, error_uri: 'https://evil.example', state });
      expectStatus(reply, code, error);
      expect(reply.headers.get('x-content-type-options')).to.equal('nosniff');
      expect(reply.text).to.not.match(/script|alert|evil/);
      expect(flowCookiesOf(browser), 'the flow is over').to.deep.equal([]);
      expect(party().provider.requests).to.deep.equal([]);
    });
  }

  it('LOG-09 repeats no error code that is not registered', async () => {
    const { browser, state } = await answered();
    const reply = await browser.callback('v2', { error: script, state });
    expectStatus(reply, 400);
    expect(reply.text).to.not.match(/script|alert/);
  });

  it('LOG-09 looks at the state before the error', async () => {
    const { browser } = await answered();
    const reply = await browser.callback('v2', { error: 'access_denied', state: 'B'.repeat(43) });
    expectStatus(reply, 400, 'state');
    expect(causesOf(reply)).to.not.include('access_denied');
  });
});

describe('callback, with an issuer that need not name itself in its responses', () => {
  const party = relyingParty({ config: unlimited });

  it('LOG-11 refuses another name all the same', async () => {
    const { provider, service } = party();
    for (const iss of ['https://other.example/tenant', `${provider.issuer}/`, '']) {
      provider.misbehave({ response: { iss } });
      expectStatus((await logIn(service)).callback, 400, 'iss');
    }
    expect(provider.hits('token')).to.equal(0);
    provider.misbehave({ response: { iss: provider.issuer } });
    expectOK((await logIn(service)).callback);
  });
});

describe('callback, with an issuer that names itself in its responses', () => {
  const metadata = { authorization_response_iss_parameter_supported: true };
  const party = relyingParty({ config: unlimited, prepare: (provider) => provider.misbehave({ metadata }) });

  beforeEach(() => party().provider.misbehave({ metadata }));

  const strict = () => party().cluster.service({ provider: party().provider, config: { login: { ...unlimited.login, requireIss: true } } });

  it('LOG-11 works when the name is right', async () => {
    const { callback, answer } = await logIn(party().service);
    expect(answer.get('iss')).to.equal(party().provider.issuer);
    expectOK(callback);
  });

  for (const [what, change] of Object.entries<(issuer: string) => string>({
    'another issuer': () => 'https://other.example/tenant',
    'a trailing slash': (issuer) => `${issuer}/`,
    'another case': (issuer) => issuer.replace('tenant', 'Tenant'),
    'an empty name': () => '',
  })) {
    it(`LOG-11 refuses ${what}`, async () => {
      const { provider, service } = party();
      for (const version of versions) {
        for (const flow of ['code', 'hybrid', 'id_token'] as const) {
          provider.misbehave({ metadata, response: { iss: change(provider.issuer) } });
          provider.forgetRequests();
          expectStatus((await logIn(service, { version, flow })).callback, 400, 'iss');
          expect(provider.hits('token')).to.equal(0);
        }
      }
    });
  }

  it('LOG-11 takes a bare code without the name, and an ID token, which names the issuer itself', async () => {
    const { provider, service } = party();
    provider.misbehave({ metadata, response: { iss: undefined } });
    for (const version of versions)
      for (const flow of ['code', 'hybrid', 'id_token'] as const) expectOK((await logIn(service, { version, flow })).callback);
  });

  it('LOG-11 refuses a bare code without the name under login.requireIss, and still takes an ID token', async () => {
    const { provider } = party();
    const service = await strict();
    provider.misbehave({ metadata, response: { iss: undefined } });
    provider.forgetRequests();
    for (const version of versions) expectStatus((await logIn(service, { version })).callback, 400, 'iss');
    expect(provider.hits('token')).to.equal(0);
    for (const flow of ['hybrid', 'id_token'] as const) expectOK((await logIn(service, { flow })).callback);
    provider.misbehave({ metadata });
    expectOK((await logIn(service)).callback);
  });

  it('LOG-11 does not ask for the name that an issuer does not announce', async () => {
    const { cluster } = party();
    const provider = await TestProvider.start({ tls: true });
    try {
      const service = await cluster.service({ provider, config: { login: { requireIss: true } } });
      const { answer, callback } = await logIn(service);
      expect(answer.has('iss')).to.equal(false);
      expectOK(callback);
    } finally {
      await provider.stop();
    }
  });
});
