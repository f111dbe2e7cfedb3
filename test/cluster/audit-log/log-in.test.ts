import { expect } from 'chai';
import { Browser, logIn, renewPayloadOf, userInfoOf, type Version } from '../../service/login/provider/browser.ts';
import { audience, exchange, workloadToken } from '../../service/token-exchange/workloads.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { isOwn, watches, what } from './audit-log.ts';
import { type Credentials, startAuditedService } from './audited-service.ts';
import { emailOf, personCalled } from './callers.ts';
import { hostileHeaders } from './operations.ts';
import { byItself, expectOwnAccount, forLogIns, watched } from './own-account.ts';

const storages = ['cookie', 'local'] as const;
const versions: readonly Version[] = ['v1', 'v2'];

describe('the audit log of logins', () => {
  describe('with an issuer that the API server trusts', () => suite('passthrough'));
  describe('with an issuer that the API server does not know', () => suite('impersonate'));
});

function suite(credentials: Credentials): void {
  const service = forSuite(() => startAuditedService(credentials));

  /** Logs in, renews the session with each operation, and logs out. */
  async function live(name: string, version: Version, storage: (typeof storages)[number]): Promise<void> {
    const { server, provider } = service;
    provider.person = personCalled(name);
    const browser = new Browser(server.url);
    const { callback } = await logIn(server, { browser, version, storage });
    const { token } = userInfoOf(callback).ext;
    let refreshToken = token?.refresh_token ?? '';
    const written = { ...hostileHeaders, origin: 'http://console.test' };
    const send = async (operation: string, method: 'GET' | 'POST') => {
      const parameters = new URLSearchParams({ refresh_token: refreshToken });
      const path = `/api/${operation}`;
      const reply =
        method === 'GET'
          ? await browser.request(`${path}?${parameters}`, { headers: hostileHeaders })
          : await browser.request(path, { method, headers: written, body: parameters });
      expect(reply.status, `${method} ${path}: ${reply.text}`).to.equal(200);
      refreshToken = renewPayloadOf(reply).refresh_token ?? refreshToken;
    };
    for (const method of ['GET', 'POST'] as const) for (const each of versions) await send(`${each}/token/refresh`, method);
    await send('v2/token/logout', version === 'v1' ? 'GET' : 'POST');
    await logIn(server, { version, storage });
    const body = new URLSearchParams({ logout_token: provider.logoutToken() });
    const told = await browser.request('/api/v2/token/backchannel-logout', { method: 'POST', headers: hostileHeaders, body });
    expect(told.status, told.text).to.equal(200);
  }

  const people = versions.flatMap((version) => storages.map((storage) => ({ name: `${version}-${storage}`, version, storage })));

  for (const { name, version, storage } of people) {
    it(`has only a SelfSubjectReview in the name of the user who logs in (${version}, ${storage})`, async () => {
      await live(name, version, storage);
      const calls = (await service.log.ofService()).filter(
        ({ user, impersonatedUser }) => (impersonatedUser ?? user).username === emailOf(name),
      );

      expect(new Set(calls.map(what))).to.deep.equal(new Set(credentials === 'passthrough' ? ['create selfsubjectreviews'] : []));
    });
  }

  it('has no call in the name of a machine user whose workload gets a token, and one that stores the token', async () => {
    const { server, provider } = service;
    const token = workloadToken(provider, { claims: { aud: audience } });
    const { status, body } = await exchange(server, token, { client_id: 'shop' });
    expect(status, JSON.stringify(body)).to.equal(200);
    const events = await eventually(
      () => service.log.ofService(),
      (soFar) => soFar.some((event) => what(event) === 'create accesstokens'),
    );

    expect(events.filter((event) => isOwn(event) && what(event) === 'create accesstokens')).to.have.length(1);
    expect(events.filter(({ user, impersonatedUser }) => (impersonatedUser ?? user).username === 'machine:shop')).to.deep.equal([]);
  });

  it('has only the calls of the service account that a login and an exchange include', async () => {
    await service.server.relay.cut();
    const events = await eventually(
      () => service.log.ofService(),
      (soFar) => watches(soFar).size === watched.length,
    );

    expectOwnAccount(events, [...byItself, ...forLogIns, 'create accesstokens']);
    const names = people.map(({ name }) => emailOf(name));
    expect(events.filter((event) => !isOwn(event) && !names.includes(event.user.username ?? ''))).to.deep.equal([]);
    for (const call of ['create users', 'create sessions', 'patch sessions', 'delete sessions', 'create revokedtokens'])
      expect(events.filter(isOwn).map(what), call).to.include(call);
    expect(await service.log.text()).not.to.include('intruder');
  });
}
