import { expect } from 'chai';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { exchanges, logout, refresh, session, sessionObject, tokens } from '../sessions/support.ts';
import { Browser, logIn, type Reply, renewPayloadOf, userInfoOf } from './provider/browser.ts';
import type { Misbehaviour } from './provider/misbehaviour.ts';
import type { TokenChange } from './provider/tokens.ts';

/** JSON texts of values that no issuer should send, or that few clients expect. */
const oddValues = ['null', '""', '7', 'true', '[]', '[null]', '{"a":{"b":[1]}}', '"\\ud800"', `"${'x'.repeat(5000)}"`];
const oddTimes = ['null', '""', '0', '-1', '1.5', '-1e300', '1e300', '9223372036854775807', '1e400', '"1795888920"', '[]', '{}'];
const times = ['exp', 'iat', 'nbf', 'auth_time'];
const valuesOf = (member: string) => (times.includes(member) ? oddTimes : oddValues);

const members = [
  ...[...times, 'iss', 'sub', 'aud', 'azp', 'nonce', 'sid', 'acr', 'jti', 'events', 'at_hash', 'c_hash'],
  ...['email', 'email_verified', 'name', 'groups', 'picture', 'federated_claims', '_claim_names', '__proto__'],
];

/** The end of the year 9999, the last one that RFC 3339 can write. */
const lastTime = '9999-12-31T23:59:59Z';
const int64Max = '9223372036854775807';

/** Returns a change that sets a member of a token to the value of a JSON text. */
const withMember = (name: string, json: string): TokenChange => ({
  text: (claims) => {
    const others = Object.entries(JSON.parse(claims) as Record<string, unknown>).filter(([key]) => key !== name);
    return `{${[...others.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`), `"${name}":${json}`].join(',')}}`;
  },
});

const keptTokens = async (service: { url: string }) => {
  const { browser, refreshToken: token } = await tokens(service);
  return { browser, token };
};
const cookieSession = async (service: { url: string }) => {
  const { browser, handle: token } = await session(service);
  return { browser, token };
};

describe('odd members of answers of an issuer', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000, scopes: ['openid', 'email', 'groups', 'offline_access'] } } });

  beforeEach(() => party().provider.become(undefined, { sid: `session-${Math.random()}` }));

  const sendLogout = (...changes: TokenChange[]) =>
    new Browser(party().service.url).request('/api/v2/token/backchannel-logout', {
      method: 'POST',
      body: new URLSearchParams({ logout_token: party().provider.logoutToken(...changes) }),
    });

  /** Expects an answer without a failure of the service, and with times that a client can read. */
  function expectSettled(reply: Reply, refusal: number, what: string): void {
    expect(reply.status, `${what}: ${reply.text.slice(0, 300)}`).to.be.oneOf([200, refusal]);
    if (reply.status !== 200) return;
    const ends = [...reply.text.matchAll(/"(?:expire_at|expires_at)":"([^"]+)"/g)].map(([, end = '']) => end);
    for (const end of ends) expect(end, what).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  }

  for (const name of members) {
    it(`cases/91 are refused with 400 in a logout token, or the logout takes effect: ${name}`, async () => {
      for (const json of valuesOf(name)) expectSettled(await sendLogout(withMember(name, json)), 400, json);
    });

    it(`cases/91 are refused with 401 in an ID token, or the login succeeds: ${name}`, async () => {
      const { provider, service } = party();
      for (const json of valuesOf(name))
        for (const [flow, storage] of [
          ['code', 'cookie'],
          ['hybrid', 'local'],
        ] as const) {
          provider.misbehave({ idToken: withMember(name, json) });
          const { callback, browser } = await logIn(service, { flow, storage });
          expectSettled(callback, 401, json);
          if (callback.status !== 200) continue;
          const { token } = userInfoOf(callback).ext;
          expectSettled(await browser.info('v2', token?.access_token), 401, json);
          // A logout of kept tokens waits for the next second.
          if (storage === 'cookie') expectSettled(await logout(browser, token?.refresh_token ?? ''), 401, json);
        }
    });

    it(`cases/91 are refused with 401 in the ID token of a renewal, or the renewal succeeds: ${name}`, async () => {
      const { provider, service } = party();
      for (const begin of [keptTokens, cookieSession]) {
        // A login that is renewed is renewed again, because logins take most of the time of these tests.
        let login: { browser: Browser; token: string } | undefined;
        for (const json of valuesOf(name)) {
          provider.misbehave();
          login ??= await begin(service);
          const { browser, token } = login;
          provider.misbehave({ refreshed: withMember(name, json) });
          const before = exchanges(provider);
          const renewed = await refresh(browser, token);
          expectSettled(renewed, 401, json);
          expect(exchanges(provider), `${json}: exchanges`).to.equal(before + 1);
          login = undefined;
          if (renewed.status !== 200) continue;
          const { access_token, refresh_token } = renewPayloadOf(renewed);
          login = { browser, token: refresh_token ?? token };
          expectSettled(await browser.info('v2', access_token), 401, json);
        }
      }
    });

    it(`cases/91 are refused with 401 in a bearer token, or the token is accepted: ${name}`, async () => {
      const { provider, service } = party();
      for (const json of valuesOf(name))
        expectSettled(await new Browser(service.url).info('v2', provider.idToken(withMember(name, json))), 401, json);
    });

    it(`cases/91 are refused with 401 in userinfo, or the login succeeds: ${name}`, async () => {
      const { provider, service } = party();
      for (const json of valuesOf(name).filter((one) => !['1e400', '"\\ud800"'].includes(one))) {
        provider.misbehave({ idToken: { claims: { groups: undefined } }, userInfo: { [name]: JSON.parse(json) } });
        const { callback, browser } = await logIn(service);
        expectSettled(callback, 401, json);
        if (callback.status === 200) expectSettled(await browser.info('v2'), 401, json);
      }
    });
  }

  const absent: Record<string, TokenChange> = {
    'sid null': { claims: { sid: null } },
    'sid empty': { claims: { sid: '' } },
    'sub null beside a sid': { claims: { sub: null } },
    'sub empty beside a sid': { claims: { sub: '' } },
    'azp null': { claims: { azp: null } },
    'azp empty': { claims: { azp: '' } },
    'nonce null': { claims: { nonce: null } },
    'nonce empty': { claims: { nonce: '' } },
    'nbf null': { claims: { nbf: null } },
    'typ null': { header: { typ: null } },
    'typ empty': { header: { typ: '' } },
    'kid null': { header: { kid: null } },
    'kid empty': { header: { kid: '' } },
  };
  for (const [what, change] of Object.entries(absent))
    it(`cases/91 count as absent in a logout token: ${what}`, async () => {
      const { cluster, service } = party();
      const { browser, path } = await session(service);
      const reply = await sendLogout(change);
      expect(reply.status, reply.text).to.equal(200);
      expectStatus(await browser.info('v2'), 401);
      expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
    });

  for (const [what, change] of Object.entries({
    'neither sub nor sid': { claims: { sub: null, sid: '' } },
    'exp null': { claims: { exp: null } },
    'iat null': { claims: { iat: null } },
    'jti null': { claims: { jti: null } },
    'events null': { claims: { events: null } },
    'aud null': { claims: { aud: null } },
    'iss null': { claims: { iss: null } },
  }))
    it(`cases/91 are reported as missing in a logout token if they are required: ${what}`, async () => {
      const { cluster, service } = party();
      const { browser, path } = await session(service);
      expectStatus(await sendLogout(change), 400, 'logout_token');
      expectOK(await browser.info('v2'));
      expect(await sessionObject(cluster.kubernetes, path)).to.not.equal(undefined);
    });

  for (const [what, change] of Object.entries({
    'nbf null': { claims: { nbf: null } },
    'typ null': { header: { typ: null } },
    'typ empty': { header: { typ: '' } },
    'kid null': { header: { kid: null } },
    'kid empty': { header: { kid: '' } },
  }))
    it(`cases/91 count as absent in an ID token: ${what}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ idToken: change });
      for (const flow of ['code', 'hybrid'] as const) expectOK((await logIn(service, { flow })).callback);
      expectOK(await new Browser(service.url).info('v2', provider.idToken(change)));
    });

  for (const end of [int64Max, '253402300800', '1e300'])
    it(`cases/91 end in the year 9999 at the latest: exp ${end}`, async () => {
      const { provider, service } = party();
      const change = withMember('exp', end);
      const info = await new Browser(service.url).info('v2', provider.idToken(change));
      expectOK(info);
      expect(userInfoOf(info).ext.expires_at).to.equal(lastTime);
      for (const storage of ['cookie', 'local'] as const) {
        provider.misbehave({ idToken: change });
        const { callback, browser } = await logIn(service, { storage });
        expectOK(callback);
        const { token, expires_at } = userInfoOf(callback).ext;
        expect({ expires_at, ends: token?.expire_at }).to.deep.equal({ expires_at: lastTime, ends: lastTime });
        const renewed = await refresh(browser, token?.refresh_token ?? '');
        expectOK(renewed);
        expect(renewPayloadOf(renewed).expire_at).to.equal(lastTime);
        const { access_token, refresh_token = '' } = renewPayloadOf(renewed);
        expectOK(await browser.info('v2', access_token));
        expectOK(await logout(browser, refresh_token));
        expectStatus(await browser.info('v2', access_token), 401);
      }
    });

  const hugeNumber = Number(int64Max);
  const tokenAnswers: Record<string, unknown[]> = {
    expires_in: [0, 0.5, 1e300, hugeNumber, '900', '1e300', '', 'soon', true, [], {}],
    scope: [[], {}, 7, 'openid'],
    token_type: ['bearer', 'BEARER', null, 7, []],
    access_token: [null, '', 7, [], {}],
    refresh_token: [7, [], {}, true],
    id_token: [7, [], {}, true, 'x', null],
    error: ['', 'invalid_grant', 7, {}],
  };
  describe('with an opaque access token as the credential', () => {
    const opaque = relyingParty({
      config: { login: { perMinute: 1_000_000, bearer: 'access_token', scopes: ['openid', 'email', 'groups', 'offline_access'] } },
    });

    async function expectUsable({ provider, service }: ReturnType<typeof opaque>, misbehaviour: Misbehaviour, what: string): Promise<void> {
      provider.misbehave(misbehaviour);
      const { callback } = await logIn(service);
      provider.misbehave();
      const { browser, handle } = await session(service);
      provider.misbehave(misbehaviour);
      for (const { status, text } of [callback, await refresh(browser, handle)]) {
        expect(status, `${what}: ${text}`).to.be.oneOf([200, 401, 503]);
        if (status === 200) expect(text, what).to.match(/"expire_at":"\d{4}-/);
      }
      provider.misbehave();
    }

    for (const [name, values] of Object.entries(tokenAnswers))
      it(`cases/91 are refused in a token answer, or the login and its renewal succeed: ${name}`, async () => {
        for (const value of values)
          for (const one of [party(), opaque()]) await expectUsable(one, { tokenAnswer: { [name]: value } }, JSON.stringify(value));
      });

    for (const expiresIn of [1e300, hugeNumber])
      it(`cases/91 end in the year 9999 at the latest: expires_in ${expiresIn}`, async () => {
        const { provider, service } = opaque();
        provider.misbehave({ tokenAnswer: { expires_in: expiresIn } });
        const { callback } = await logIn(service);
        expectOK(callback);
        expect(userInfoOf(callback).ext.token?.expire_at).to.equal(lastTime);
      });
  });

  const metadata: Record<string, unknown[]> = {
    id_token_signing_alg_values_supported: ['RS256', {}, 7, true, [null, 7], []],
    token_endpoint_auth_methods_supported: ['client_secret_post', {}, 7, [null]],
    authorization_response_iss_parameter_supported: ['true', 1, {}],
    require_pushed_authorization_requests: ['true', 1, {}],
    end_session_endpoint: [7, {}, [], 'x'],
    revocation_endpoint: [7, {}, [], 'x'],
    userinfo_endpoint: [7, {}, [], 'x'],
    jwks_uri: [7, {}, [], 'x', null],
    token_endpoint: [7, {}, [], 'x', null],
    authorization_endpoint: [7, {}, [], 'x', null],
  };
  for (const [name, values] of Object.entries(metadata))
    it(`cases/91 are an outage of the issuer at most in a discovery document: ${name}`, async () => {
      const { cluster, provider } = party();
      for (const value of values) {
        provider.misbehave({ metadata: { [name]: value } });
        const service = await cluster.service({ provider });
        const browser = new Browser(service.url);
        const begun = await browser.login('v2');
        expect(begun.status, `${JSON.stringify(value)}: ${begun.text}`).to.be.oneOf([200, 503]);
        if (begun.status === 200) {
          const { callback } = await logIn(service);
          expect(callback.status, `${JSON.stringify(value)}: ${callback.text}`).to.be.oneOf([200, 401, 503]);
        }
        const info = await browser.info('v2', provider.idToken());
        expect(info.status, `${JSON.stringify(value)}: ${info.text}`).to.be.oneOf([200, 503]);
        await service.stop();
      }
    });

  const keySets: Record<string, (own: readonly object[]) => unknown[]> = {
    'null members': (own) => own.map((key) => ({ ...key, alg: null, use: null, key_ops: null, ext: null, x5c: null, 'x5t#S256': '' })),
    'an entry that is null': (own) => [null, ...own],
    'an entry without a type': (own) => [{ kid: 'x' }, ...own],
    'an entry whose type is no text': (own) => [{ kty: 7, kid: 'x' }, ...own],
    'an entry that is a text': (own) => ['x', ...own],
    'an entry that is a list': (own) => [[], ...own],
  };
  for (const [what, jwks] of Object.entries(keySets))
    it(`cases/91 are ignored in a key set: ${what}`, async () => {
      const { cluster, provider } = party();
      provider.misbehave({ jwks });
      const service = await cluster.service({ provider });
      expectOK((await logIn(service)).callback);
      expectOK(await new Browser(service.url).info('v2', provider.idToken()));
      await service.stop();
    });
});
