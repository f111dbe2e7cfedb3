import { expect } from 'chai';
import { Browser, renewPayloadOf, userInfoOf } from '../../service/login/provider/browser.ts';
import { expiresCookie, handleOf, refresh, sessionObject } from '../../service/sessions/support.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { listUsers, logIn, sessionCookie } from './console.ts';
import { clientSecret } from './realm.ts';
import { atKeycloak, bothCredentials } from './suite.ts';

for (const credentials of bothCredentials) {
  describe(`renewal at Keycloak, ${credentials}`, () => {
    const { all, service, realm } = atKeycloak(credentials);

    it('renews a session while Keycloak rotates the refresh token', async () => {
      const { browser, refreshToken: handle, sessionPath } = await newcomer('rita');
      const before = await sessionObject(all.kubernetes, sessionPath);

      const first = await refresh(browser, handle);
      const second = await refresh(browser, handleOf(first));

      expect([first.status, second.status], `${first.text} ${second.text}`).to.deep.equal([200, 200]);
      expect(handleOf(second)).not.to.equal(handle);
      expect((await sessionObject(all.kubernetes, sessionPath))?.spec.sealed).not.to.equal(before?.spec.sealed);
      expect((await listUsers(browser)).status).to.equal(200);
    });

    it('ends a session whose refresh token was used before', async () => {
      const { kubernetes } = all;
      const { browser, refreshToken: handle, sessionPath } = await newcomer('ruth');
      const before = await sessionObject(kubernetes, sessionPath);
      expect((await refresh(browser, handle)).status).to.equal(200);
      // A restored backup has the same effect.
      await kubernetes.call(
        'PATCH',
        sessionPath,
        { spec: { sealed: before?.spec.sealed } },
        { 'content-type': 'application/merge-patch+json' },
      );

      const reply = await eventually(
        () => refresh(browser, handle),
        ({ status }) => status !== 200,
      );

      expect(reply.status, reply.text).to.equal(401);
      expect(expiresCookie(reply)).to.equal(true);
      expect(await sessionObject(kubernetes, sessionPath)).to.equal(undefined);
    });

    it('renews tokens that the client stores, until a refresh token is used twice', async () => {
      const { browser, bearer, refreshToken } = await newcomer('rob', 'local');

      const renewed = renewPayloadOf(await refresh(browser, refreshToken));
      expect(renewed.access_token).not.to.equal(bearer);
      expect(renewed.refresh_token).not.to.equal(refreshToken);
      expect((await listUsers(browser, renewed.access_token)).status).to.equal(200);

      const stolen = await refresh(new Browser((await all.service({ credentials })).url), refreshToken);
      expect(stolen.status, stolen.text).to.equal(401);
      // Keycloak cannot tell a thief from the client, so it revokes the tokens of both.
      const owner = await refresh(browser, renewed.refresh_token ?? '');
      expect(owner.status, owner.text).to.equal(401);
    });

    it('gives a user who leaves a group fewer rights at the next renewal', async () => {
      const { person, browser, refreshToken } = await newcomer('rosa');
      expect((await listUsers(browser)).status).to.equal(200);
      await realm.leaveGroup(person, 'dev');

      expect((await refresh(browser, refreshToken)).status).to.equal(200);

      expect(userInfoOf(await browser.info('v2')).groups).to.deep.equal([]);
      expect((await listUsers(browser)).status).to.equal(403);
    });

    it('renews a session on use after its tokens have expired', async () => {
      const brief = await all.service({ credentials, clientID: 'atrium-brief' });
      const { browser, user } = await newcomer('rick', 'cookie', brief);
      const end = Date.parse(String(user.ext.expires_at));

      while (Date.now() < end + 1_000) {
        expect((await listUsers(browser)).status).to.equal(200);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }

      expect(Date.parse(String(userInfoOf(await browser.info('v2')).ext.expires_at))).to.be.greaterThan(end);
    });

    it('ends the session of a user who was disabled at Keycloak', async () => {
      const { person, browser, refreshToken, sessionPath } = await newcomer('rolf');
      await realm.admin('PUT', `/users/${person.id}`, { enabled: false });

      const reply = await refresh(browser, refreshToken);

      expect(reply.status, reply.text).to.equal(401);
      expect(browser.cookies.has(sessionCookie)).to.equal(false);
      expect(await sessionObject(all.kubernetes, sessionPath)).to.equal(undefined);
      const local = await newcomer('rolfa', 'local');
      await realm.admin('PUT', `/users/${local.person.id}`, { enabled: false });
      expect((await refresh(local.browser, local.refreshToken)).status).to.equal(401);
    });

    it('ends the session of a user who is logged out by an administrator of Keycloak', async () => {
      const { person, browser, refreshToken, sessionPath } = await newcomer('rene');
      await realm.admin('POST', `/users/${person.id}/logout`);

      const reply = await refresh(browser, refreshToken);

      expect(reply.status, reply.text).to.equal(401);
      expect(await sessionObject(all.kubernetes, sessionPath)).to.equal(undefined);
    });

    it('keeps sessions while the client secret has changed at Keycloak alone', async () => {
      const clientSecretFile = await all.file('secret-that-changes', clientSecret);
      const changing = await all.service({ credentials, login: { clientSecretFile } });
      const { browser, refreshToken, sessionPath } = await newcomer('rudi', 'cookie', changing);
      const local = await newcomer('rudia', 'local', changing);
      await realm.changeClient('atrium', { secret: 'the next one' });
      try {
        for (const reply of [await refresh(browser, refreshToken), await refresh(local.browser, local.refreshToken)]) {
          expect(reply.status, reply.text).to.equal(503);
          expect(reply.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
        }
        expect(await sessionObject(all.kubernetes, sessionPath)).not.to.equal(undefined);

        await all.file('secret-that-changes', 'the next one');
        const back = await eventually(
          () => refresh(browser, refreshToken),
          ({ status }) => status !== 503,
        );
        expect(back.status, back.text).to.equal(200);
        expect((await refresh(local.browser, local.refreshToken)).status).to.equal(200);
      } finally {
        await realm.changeClient('atrium', { secret: clientSecret });
      }
    });

    it('renews offline tokens in the same way', async () => {
      const offline = await all.service({ credentials, login: { scopes: ['openid', 'email', 'groups', 'offline_access'] } });
      const { browser, refreshToken } = await newcomer('rainer', 'cookie', offline);

      const first = await refresh(browser, refreshToken);
      const second = await refresh(browser, handleOf(first));

      expect([first.status, second.status], `${first.text} ${second.text}`).to.deep.equal([200, 200]);
    });

    const newcomer = async (username: string, storage: 'cookie' | 'local' = 'cookie', at = service) => {
      const person = await realm.person(username, { groups: ['dev'] });
      return { person, ...(await logIn(at, { keycloak: all.keycloak, person, storage })) };
    };
  });
}
