import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { logout, refresh } from '../sessions/support.ts';
import { type Browser, logIn, renewPayloadOf, userInfoOf } from './provider/browser.ts';

const uuids = (count: number) => Array.from({ length: count }, (_, index) => `3f2504e0-4f89-11d3-9a0c-${String(index).padStart(12, '0')}`);
const path = '/api/kubernetes/api/v1/namespaces/default/configmaps';

describe('a login of a user with many groups', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });

  before(() => party().cluster.kubernetes.apply(clusterRoleBinding('many-view', 'view', { kind: 'Group', name: uuids(1)[0] ?? '' })));
  beforeEach(() => party().provider.become());

  async function expectUsable(browser: Browser, bearer: string | undefined, groups: readonly string[]): Promise<void> {
    const headers = bearer === undefined ? { 'sec-fetch-site': 'same-origin' } : { authorization: `Bearer ${bearer}` };
    const info = await browser.info('v2', bearer);
    expectOK(info);
    expect(userInfoOf(info).groups).to.deep.equal(groups);
    const found = await eventually(
      () => browser.request(path, { headers }),
      ({ status }) => status !== 403,
    );
    expectOK(found);
  }

  for (const count of [5, 50, 300, 1_000])
    for (const storage of ['cookie', 'local'] as const)
      for (const credentials of ['impersonate', 'passthrough'] as const)
        it(`cases/08 is good for login, info, refresh, logout and /api/kubernetes: ${count} groups, ${storage}, ${credentials}`, async () => {
          const { provider, service, forwarding } = party();
          const groups = uuids(count);
          provider.person = { ...provider.person, groups };
          const at = credentials === 'passthrough' ? await forwarding() : service;
          const { browser, callback } = await logIn(at, { storage });
          expectOK(callback);
          const { token } = userInfoOf(callback).ext;
          expect(userInfoOf(callback).groups).to.deep.equal(groups);
          await expectUsable(browser, token?.access_token, groups);
          const renewed = await refresh(browser, token?.refresh_token ?? '');
          expectOK(renewed);
          const next = renewPayloadOf(renewed);
          await expectUsable(browser, next.access_token, groups);
          const bearer = next.access_token === undefined ? {} : { headers: { authorization: `Bearer ${next.access_token}` } };
          expectOK(await logout(browser, next.refresh_token ?? '', bearer));
          expectStatus(await browser.info('v2', next.access_token), 401);
        });

  it('cases/08 holds for the bearer of claims that only userinfo tells', async () => {
    const { provider, service } = party();
    provider.person = { ...provider.person, groups: uuids(1_000) };
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { browser, callback } = await logIn(service, { storage: 'local' });
    expectOK(callback);
    await expectUsable(browser, userInfoOf(callback).ext.token?.access_token, uuids(1_000));
  });

  it('cases/08 takes the bearer of 300 groups as the sub-protocol of a WebSocket', async () => {
    const { provider, service } = party();
    provider.person = { ...provider.person, groups: uuids(300) };
    const { callback } = await logIn(service, { storage: 'local' });
    const bearer = userInfoOf(callback).ext.token?.access_token ?? '';
    const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(bearer).toString('base64url')}`;
    const upgrade = request(`${service.url}/api/kubernetes/api/v1/namespaces/default/pods/x/exec?command=sh`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': `${protocol}, v5.channel.k8s.io`,
      },
    });
    const answered = once(upgrade, 'response') as Promise<[IncomingMessage]>;
    upgrade.end();
    const [answer] = await answered;
    const body = await text(answer);
    // The user may view, and execute nothing.
    expect(answer.statusCode, body).to.equal(403);
    expect(body).to.include(provider.person.email);
  });

  it('cases/08 is refused at once with the size and what to do, where no request has room for the token', async () => {
    const { provider, service, cluster } = party();
    const large = { idToken: { claims: { groups: uuids(5), photo: 'x'.repeat(45_000) } } };
    provider.person = { ...provider.person, groups: uuids(1_150) };
    for (const misbehaviour of [large, { claimsOnlyAtUserInfo: true }]) {
      provider.misbehave(misbehaviour);
      const { callback } = await logIn(service, { storage: 'local' });
      expectStatus(callback, 401, 'TokenTooLarge');
      const [cause] = (callback.body as { details: { causes: { message: string; field: string }[] } }).details.causes;
      expect(cause?.field).to.equal('id_token');
      expect(cause?.message).to.match(/^has \d{5} characters, and a request has room for 57344: log in with token_storage=cookie/);
    }
    const { items } = (await cluster.kubernetes.call('GET', '/apis/auth.platform.io/v1/users')).body as {
      items: { spec: { email: string } }[];
    };
    expect(items.filter(({ spec }) => spec.email === provider.person.email)).to.deep.equal([]);
  });

  it('cases/08 names the size of tokens that no session holds', async () => {
    const { provider, service } = party();
    provider.person = { ...provider.person, groups: uuids(3_000) };
    const { callback } = await logIn(service);
    expectStatus(callback, 401, 'id_token');
    expect(callback.text).to.match(/has \d{6} characters with its claims, and a login keeps 95000/);
  });

  it('cases/08 leaves 16 KiB for all but the credential', async () => {
    const { provider, service } = party();
    provider.person = { ...provider.person, groups: [] };
    const { browser } = await logIn(service);
    const bearer = provider.idToken({ claims: { groups: uuids(900) } });
    const authorization = `Bearer ${bearer}`;
    expectOK(await browser.request('/api/v2/token/info', { headers: { authorization, cookie: `x=${'x'.repeat(15_000)}` } }));
    for (const headers of [{ 'x-large': 'x'.repeat(17_000) }, { cookie: `x=${'x'.repeat(17_000)}` }])
      expectStatus(await browser.request('/api/v2/token/info', { headers: { authorization, ...headers } }), 431);
    expectStatus(await browser.request(`/api/v2/token/info?x=${'x'.repeat(17_000)}`, { headers: { authorization } }), 431);
  });
});
