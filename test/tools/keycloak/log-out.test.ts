import { expect } from 'chai';
import { z } from 'zod';
import { loginInfoOf } from '../../service/login/provider/browser.ts';
import { logout, refresh, sessionObject } from '../../service/sessions/support.ts';
import { logIn, sessionCookie, visit } from './console.ts';
import { consoleURL, type Person } from './realm.ts';
import { atKeycloak, bothCredentials } from './suite.ts';

const scopesOf = { refresh: ['openid', 'email', 'groups'], offline: ['openid', 'email', 'groups', 'offline_access'] };
const keycloakSessions = z.array(z.object({ clients: z.record(z.string(), z.string()) }));

/** Returns the address of the `Link` header that the page goes to. */
const linkOf = (headers: Headers): string => /^<([^>]+)>; rel="logout"$/.exec(headers.get('link') ?? '')?.[1] ?? '';

for (const credentials of bothCredentials) {
  describe(`logout at Keycloak, ${credentials}`, () => {
    const { all, service, realm } = atKeycloak(credentials);

    for (const [kind, scopes] of Object.entries(scopesOf)) {
      it(`ends the session here and its ${kind} token there`, async () => {
        const { keycloak, kubernetes } = all;
        const asking = await all.service({ credentials, login: { scopes } });
        const person = await realm.person(`lena-${kind}`);
        const { browser, refreshToken, sessionPath } = await logIn(asking, { keycloak, person });
        expect(await grants(person, kind)).to.equal(1);

        const reply = await logout(browser, refreshToken);

        expect(reply.status, reply.text).to.equal(200);
        expect(reply.headers.get('warning')).to.equal(null);
        expect(await grants(person, kind)).to.equal(0);
        expect(await sessionObject(kubernetes, sessionPath)).to.equal(undefined);
        expect(browser.cookies.has(sessionCookie)).to.equal(false);
        expect((await browser.info('v2')).status).to.equal(401);
      });
    }

    it('revokes a refresh token that the client stores', async () => {
      const person = await realm.person('luis');
      const { browser, bearer, refreshToken } = await logIn(service, { keycloak: all.keycloak, person, storage: 'local' });
      expect(await grants(person, 'refresh')).to.equal(1);

      const reply = await logout(browser, refreshToken);

      expect(reply.status, reply.text).to.equal(200);
      expect(await grants(person, 'refresh'), 'at Keycloak').to.equal(0);
      expect((await browser.info('v2', bearer)).status).to.equal(401);
      expect((await refresh(browser, refreshToken)).status).to.equal(401);
      expect((await logout(browser, refreshToken)).status).to.equal(401);
    });

    it('leads to the end-session endpoint of Keycloak, so that the next login requires the password', async () => {
      const { keycloak } = all;
      const person = await realm.person('lisa');
      const { browser, issuer, refreshToken, wasAsked } = await logIn(service, { keycloak, person });
      expect(wasAsked).to.equal(true);
      const again = await logIn(service, { keycloak, person, issuer });
      expect(again.wasAsked).to.equal(false);

      const { status, headers } = await logout(browser, refreshToken);
      const link = linkOf(headers);
      const end = await issuer.get(link);

      expect(status).to.equal(200);
      // Keycloak shows no page, because `id_token_hint` identifies the user.
      expect(end.answer).to.equal(undefined);
      expect(end.url.origin + end.url.pathname).to.equal(consoleURL);
      expect(end.url.searchParams.get('state')).to.equal(new URL(link).searchParams.get('state'));
      expect((await visit(service, { keycloak, person, issuer })).wasAsked).to.equal(true);
    });

    it('gives at login an address at which Keycloak asks for confirmation of a logout', async () => {
      const { keycloak } = all;
      const person = await realm.person('lars');
      const { browser, issuer } = await logIn(service, { keycloak, person });
      const { logout_url = '' } = loginInfoOf(await browser.login('v2'));

      const page = await issuer.get(logout_url);
      const end = await issuer.submit(page, { confirmLogout: 'Logout' });

      expect(end.url.href).to.equal(consoleURL);
      expect((await visit(service, { keycloak, person, issuer })).wasAsked).to.equal(true);
    });

    it('ends a session that came with an ID token alone', async () => {
      const { keycloak } = all;
      const implicit = await all.service({ credentials, clientID: 'atrium-id-token', login: { responseMode: 'id_token' } });
      const person = await realm.person('lola');
      const { browser, issuer, refreshToken } = await logIn(implicit, { keycloak, person });

      const { status, headers } = await logout(browser, refreshToken);
      const link = linkOf(headers);

      expect(status).to.equal(200);
      expect((await issuer.get(link)).answer).to.equal(undefined);
      expect((await visit(implicit, { keycloak, person, issuer })).wasAsked).to.equal(true);
    });

    it('succeeds if Keycloak has ended its session before', async () => {
      const person = await realm.person('leon');
      const { browser, refreshToken, sessionPath } = await logIn(service, { keycloak: all.keycloak, person });
      await realm.admin('POST', `/users/${person.id}/logout`);

      const reply = await logout(browser, refreshToken);

      expect(reply.status, reply.text).to.equal(200);
      expect(browser.cookies.has(sessionCookie)).to.equal(false);
      expect(await sessionObject(all.kubernetes, sessionPath)).to.equal(undefined);
    });

    it('works at a Keycloak that sends back-channel logouts', async () => {
      const { keycloak } = all;
      const discovery = await keycloak.request(`${realm.issuer}/.well-known/openid-configuration`);
      expect(JSON.parse(discovery.text)).to.include({ backchannel_logout_supported: true });
      const person = await realm.person('lydia');
      const url = `${service.url}/api/v2/token/backchannel-logout`;
      await realm.changeClient('atrium', { attributes: { 'backchannel.logout.url': url, 'backchannel.logout.session.required': 'true' } });
      try {
        const { browser, issuer, refreshToken } = await logIn(service, { keycloak, person });

        const { headers } = await logout(browser, refreshToken);
        const link = linkOf(headers);

        expect((await issuer.get(link)).url.origin).to.equal(new URL(consoleURL).origin);
        expect((await visit(service, { keycloak, person, issuer })).wasAsked).to.equal(true);
      } finally {
        await realm.changeClient('atrium', { attributes: { 'backchannel.logout.url': '' } });
      }
    });

    /** Returns the number of the user's sessions at Keycloak that include this client. */
    const grants = async ({ id }: Person, kind: string): Promise<number> => {
      const kept = kind === 'offline' ? `offline-sessions/${await realm.idOf('clients', 'atrium')}` : 'sessions';
      const { text } = await realm.admin('GET', `/users/${id}/${kept}`);
      return keycloakSessions.parse(JSON.parse(text)).filter(({ clients }) => Object.values(clients).includes('atrium')).length;
    };
  });
}
