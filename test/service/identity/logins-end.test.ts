import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import type { Browser } from './browser.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };

describe('logins at the embedded OpenID provider', () => {
  const login = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password, replicas: 2 }));

  interface Kept {
    bearer: string;
    refreshToken: string;
  }

  const keptOf = (body: string): Kept => {
    const { ext } = JSON.parse(body);
    const { access_token: bearer, refresh_token: refreshToken } = ext?.token ?? JSON.parse(body);
    return { bearer, refreshToken };
  };
  const local = async () => {
    const { browser, status, body } = await login.logIn(jane.email, jane.password, '?token_storage=local');
    expect(status, body).to.equal(200);
    return { browser, ...keptOf(body) };
  };
  /** Logs in again without a password, because the provider knows the browser. */
  const again = async (browser: Browser, storage = 'local'): Promise<string> => {
    const { auth_url } = JSON.parse((await browser.get(`${login.url}/api/v2/token/login?token_storage=${storage}`)).body);
    const { url: back } = await browser.get(auth_url);
    const { response, body } = await browser.get(`${login.url}/api/v2/token/callback${back.search}`);
    expect(response.status, body).to.equal(200);
    return body;
  };
  const info = async (bearer: string, at?: string) =>
    (await login.request('/api/v2/token/info', { headers: { authorization: `Bearer ${bearer}` } }, at)).status;
  /** Waits for the revocation, which other replicas learn of by their watch. */
  const untilRefused = (ask: () => Promise<number>) => eventually(ask, (status) => status === 401);
  const send = (operation: 'refresh' | 'logout', refreshToken: string, at?: string) =>
    login.request(`/api/v2/token/${operation}?${new URLSearchParams({ refresh_token: refreshToken })}`, {}, at);
  const grants = async () => {
    const path = '/apis/auth.platform.io/v1/namespaces/atrium-system/identityrecords';
    const { body } = await login.admin.call('GET', path);
    return (body as { items: { spec: { model: string } }[] }).items.filter(({ spec }) => spec.model === 'Grant').length;
  };

  it('END-03 end on both replicas by a logout as documented, with their grant, and another login in the same browser remains', async () => {
    const mine = await local();
    const second = keptOf(await again(mine.browser));
    const count = await grants();
    const reply = await send('logout', mine.refreshToken);

    expect(reply.status, await reply.text()).to.equal(200);
    expect(reply.headers.get('warning')).to.equal(null);
    expect(await grants()).to.equal(count - 1);
    expect(await info(mine.bearer)).to.equal(401);
    for (const at of login.urls) {
      await untilRefused(() => info(mine.bearer, at));
      expect((await send('refresh', mine.refreshToken, at)).status).to.equal(401);
      expect((await send('logout', mine.refreshToken, at)).status).to.equal(401);
    }
    const renewed = await send('refresh', second.refreshToken, login.urls[1]);
    expect(renewed.status).to.equal(200);
    const { bearer } = keptOf(await renewed.text());
    for (const at of login.urls) expect(await info(bearer, at)).to.equal(200);
  });

  it('END-03 end as sessions, too, and tokens of the same browser remain', async () => {
    const { browser, ...kept } = await local();
    const body = await again(browser, 'cookie');
    const cookie = cookieOf(browser);
    const handle = JSON.parse(body).ext.token.refresh_token;
    const left = await login.request(`/api/v2/token/logout?refresh_token=${handle}`, { headers: { cookie } });
    expect(left.status, await left.text()).to.equal(200);

    const ofCookie = async (at: string) => (await login.request('/api/v2/token/info', { headers: { cookie } }, at)).status;
    expect(await ofCookie(login.url)).to.equal(401);
    for (const at of login.urls) await untilRefused(() => ofCookie(at));
    for (const at of login.urls) expect(await info(kept.bearer, at)).to.equal(200);
  });

  it('END-05 leave the next login alone that the provider’s living session gives, with its renewals', async () => {
    const first = await local();
    expect((await send('logout', first.refreshToken)).status).to.equal(200);
    let kept = keptOf(await again(first.browser));
    for (const at of [...login.urls, ...login.urls]) {
      expect(await info(kept.bearer, at)).to.equal(200);
      const renewed = await send('refresh', kept.refreshToken, at);
      expect(renewed.status).to.equal(200);
      kept = keptOf(await renewed.text());
    }
    expect((await send('refresh', first.refreshToken)).status).to.equal(401);
  });

  it('END-02 end with a logout everywhere, and with a new password', async () => {
    const ends = [
      (bearer: string) => login.request('/auth/v1/sessions', { method: 'DELETE', headers: { authorization: `Bearer ${bearer}` } }),
      (bearer: string) =>
        login.request(`/auth/v1/users/${nameOf(jane.email)}`, {
          method: 'PATCH',
          headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/merge-patch+json' },
          body: JSON.stringify({ spec: { old_password: jane.password, password: 'another horse' } }),
        }),
    ];
    for (const end of ends) {
      const one = await local();
      const newer = keptOf(await (await send('refresh', one.refreshToken)).text());
      const ended = await end(one.bearer);
      expect(ended.status, await ended.text()).to.be.oneOf([200, 204]);
      for (const at of login.urls)
        for (const token of [one.refreshToken, newer.refreshToken]) expect((await send('refresh', token, at)).status).to.equal(401);
    }
  });
});

const cookieOf = ({ cookies }: { cookies: readonly { name: string; value: string }[] }): string =>
  cookies
    .filter(({ name }) => name.includes('atrium_session_'))
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
