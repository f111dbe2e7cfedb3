import { expect } from 'chai';
import { logIn, renewPayloadOf, userInfoOf } from '../login/provider/browser.ts';
import { aService, info, logout, whenHeard } from './support.ts';

const uuids = (count: number) => Array.from({ length: count }, (_, index) => `3f2504e0-4f89-11d3-9a0c-${String(index).padStart(12, '0')}`);

describe('the hint for the logout at an issuer', () => {
  const { cluster, provider, service } = aService();

  async function loggedIn(count: number, storage: 'cookie' | 'local') {
    provider.become(undefined, { groups: uuids(count) });
    const { browser, callback } = await logIn(service, { storage });
    const { token } = userInfoOf(callback).ext;
    return { browser, handle: token?.refresh_token ?? '', idToken: token?.id_token ?? '' };
  }
  const linkOf = (headers: Headers) => new URL(/<([^>]*)>/.exec(headers.get('link') ?? '')?.[1] ?? '');
  const posted = (handle: string, idToken: string) => ({
    method: 'POST' as const,
    body: new URLSearchParams({ refresh_token: handle, id_token: idToken }),
  });

  for (const count of [5, 20, 40])
    it(`cases/17 is in the address of a session: ${count} groups`, async () => {
      const { browser, handle } = await loggedIn(count, 'cookie');
      const reply = await logout(browser, handle);
      expect(linkOf(reply.headers).searchParams.get('id_token_hint')).to.match(/^eyJ/);
      expect(renewPayloadOf(reply)).to.not.have.property('id_token');
    });

  for (const count of [50, 300, 1_000])
    it(`cases/17 is in the answer where no address has room for it, and is not a credential: ${count} groups`, async () => {
      const { browser, handle } = await loggedIn(count, 'cookie');
      const reply = await logout(browser, handle);
      const { searchParams } = linkOf(reply.headers);
      expect(searchParams.has('id_token_hint')).to.equal(false);
      expect(searchParams.get('client_id')).to.equal('atrium');
      const { id_token: hint = '' } = renewPayloadOf(reply);
      expect(hint.split('.')).to.have.length(3);
      await whenHeard(service, cluster.kubernetes);
      expect((await info(service, hint)).body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
    });

  for (const count of [5, 40])
    it(`cases/17 is in the address for a caller who keeps the tokens and sends the ID token along: ${count} groups`, async () => {
      const { browser, handle, idToken } = await loggedIn(count, 'local');
      const reply = await browser.request('/api/v2/token/logout', posted(handle, idToken));
      expect(reply.status, reply.text).to.equal(200);
      expect(linkOf(reply.headers).searchParams.get('id_token_hint')).to.equal(idToken);
    });

  it('cases/17 is in the address for a caller who sends the ID token in the query', async () => {
    const { browser, handle, idToken } = await loggedIn(5, 'local');
    const reply = await browser.request(`/api/v2/token/logout?${new URLSearchParams({ refresh_token: handle, id_token: idToken })}`);
    expect(linkOf(reply.headers).searchParams.get('id_token_hint')).to.equal(idToken);
  });

  it('cases/17 comes back to a caller who sends an ID token of any size along', async () => {
    const { browser, handle, idToken } = await loggedIn(1_000, 'local');
    const reply = await browser.request('/api/v2/token/logout', posted(handle, idToken));
    expect(reply.status, reply.text).to.equal(200);
    expect(renewPayloadOf(reply).id_token).to.equal(idToken);
  });

  it('cases/17 is left out for another user, and the login still ends', async () => {
    const { browser, handle } = await loggedIn(5, 'local');
    provider.become();
    for (const other of [provider.idToken(), 'no-token', 'eyJ.eyJ.x']) {
      const reply = await browser.request('/api/v2/token/logout', posted(handle, other));
      expect(reply.status).to.be.oneOf([200, 401]);
      if (reply.status === 200) expect(linkOf(reply.headers).searchParams.has('id_token_hint')).to.equal(false);
    }
    expect((await logout(browser, handle)).status).to.equal(401);
  });
});
