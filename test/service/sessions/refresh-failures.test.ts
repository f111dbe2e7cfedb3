import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { hangUp, html, json, never, oauthError, providerText } from '../login/provider/answers.ts';
import { Browser, userInfoOf } from '../login/provider/browser.ts';
import { aService, cookieName, expiresCookie, patchUser, refresh, session, sessionObject, tokens } from './support.ts';

describe('a refresh that fails', () => {
  const { cluster, provider, service } = aService();
  beforeEach(() => {
    provider.become('jane-1');
  });

  describe('REN-03', () => {
    it('ends the session when the provider says invalid_grant', async () => {
      const { browser, handle, path } = await session(service);
      provider.misbehave({ answer: { token: oauthError(400, 'invalid_grant') } });
      const reply = await refresh(browser, handle);

      expect(reply.status).to.equal(401);
      expect(reply.text).not.to.include(providerText);
      expect(expiresCookie(reply)).to.equal(true);
      expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
    });

    const passing = {
      500: json(500, { error: 'server_error' }),
      429: json(429, {}),
      'a 400 that is no OAuth error': json(400, {}),
      invalid_client: oauthError(401, 'invalid_client'),
      // Error of Keycloak for a wrong secret.
      'unauthorized_client with 401': oauthError(401, 'unauthorized_client'),
      temporarily_unavailable: oauthError(400, 'temporarily_unavailable'),
      HTML: html(),
      'a broken connection': hangUp,
    };
    for (const [what, answer] of Object.entries(passing)) {
      it(`keeps the session when the provider answers ${what}`, async () => {
        const { browser, handle } = await session(service);
        const local = await tokens(service);
        provider.misbehave({ answer: { token: answer } });

        for (const reply of [await refresh(browser, handle), await refresh(local.browser, local.refreshToken)]) {
          expect(reply.status).to.equal(503);
          expect(reply.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
          expect(reply.text).not.to.include(providerText);
        }
        provider.misbehave();
        expect((await browser.info('v2')).status).to.equal(200);
        cluster.clock.advance(4);
        expect((await refresh(browser, handle)).status).to.equal(200);
        expect((await refresh(local.browser, local.refreshToken)).status).to.equal(200);
      });
    }

    it('does not wait for a provider that hangs, and keeps the session', async () => {
      const { browser, handle } = await session(service);
      provider.misbehave({ answer: { token: never } });
      const reply = await refresh(browser, handle);

      expect(reply.status).to.equal(503);
      provider.misbehave();
      expect((await browser.info('v2')).status).to.equal(200);
    });
  });

  for (const [claim, value] of [
    ['sub', 'somebody-else'],
    ['iss', 'https://other.example/'],
  ] as const) {
    it(`REN-04 ends the session when another ${claim} comes back, and drops the new tokens`, async () => {
      const { browser, handle, path } = await session(service);
      provider.misbehave({ refreshed: { claims: { [claim]: value } } });
      const reply = await refresh(browser, handle);

      expect(reply.status).to.equal(401);
      expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
      expect(provider.hits('revocation')).to.equal(1);
    });
  }

  describe('REN-05', () => {
    it('ends the session of a user who was disabled, here and at the provider', async () => {
      provider.become('disabled');
      const { browser, handle, path, user } = await session(service);
      await patchUser(cluster.kubernetes, user, { spec: { is_disabled: true } });
      await eventually(
        () =>
          new Browser(service.url).request('/api/v1/modules', {
            headers: { cookie: `${cookieName}=${browser.cookies.get(cookieName)}` },
          }),
        ({ cookies }) => cookies.length > 0,
      );
      const reply = await refresh(browser, handle);

      expect(reply.status).to.equal(401);
      expect(reply.body).to.have.nested.property('details.causes[0].reason', 'AccountDisabled');
      expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
      expect(provider.hits('revocation')).to.equal(1);
    });

    it('gives no tokens to a user who was disabled, and ends them at the provider', async () => {
      provider.become('disabled-local');
      const { browser, bearer, refreshToken } = await tokens(service);
      const { user } = userInfoOf(await browser.info('v2', bearer)).ext;
      await patchUser(cluster.kubernetes, String(user), { spec: { is_disabled: true } });
      await eventually(
        () => browser.info('v2', bearer),
        ({ status }) => status === 401,
      );
      const reply = await refresh(browser, refreshToken);

      expect(reply.status).to.equal(401);
      expect(reply.text).not.to.match(tokenInText);
      expect(provider.hits('revocation')).to.equal(1);
    });

    it('gives no tokens to a user who was deleted, and ends them at the provider', async () => {
      provider.become('deleted-local');
      const { browser, bearer, refreshToken } = await tokens(service);
      const { user } = userInfoOf(await browser.info('v2', bearer)).ext;
      await cluster.kubernetes.remove(`/apis/auth.platform.io/v1/users/${user}`);
      await eventually(
        async () => (await browser.info('v2', bearer)).status,
        (status) => status === 401,
      );
      const reply = await refresh(browser, refreshToken);

      expect(reply.status).to.equal(401);
      expect(provider.hits('revocation')).to.equal(1);
      expect((await refresh(browser, refreshToken)).status).to.equal(401);
    });

    for (const storage of ['cookie', 'local'] as const) {
      /** Renews tokens of a new user with that spec, and does that work while the provider redeems the refresh token. */
      const refreshDuring = async (work: (user: string, bearer: string) => Promise<unknown>, spec = {}) => {
        provider.become();
        const { browser, bearer, refreshToken } = await tokens(service);
        const { user } = userInfoOf(await browser.info('v2', bearer)).ext;
        await patchUser(cluster.kubernetes, String(user), { spec });
        // The replica has seen the patch when it has seen the record of this login.
        const later = await session(service);
        const renewed = storage === 'local' ? { browser, token: refreshToken } : later;
        provider.misbehave({
          hold: ({ endpoint, parameters }) =>
            endpoint === 'token' && parameters.get('grant_type') === 'refresh_token' ? work(String(user), bearer) : undefined,
        });
        return refresh(renewed.browser, 'token' in renewed ? renewed.token : renewed.handle);
      };
      afterEach(() => cluster.clock.reset());

      it(`gives no tokens to a user who is disabled during the exchange, with storage ${storage}`, async () => {
        const reply = await refreshDuring(async (user, bearer) => {
          await patchUser(cluster.kubernetes, user, { spec: { is_disabled: true } });
          await eventually(
            () => new Browser(service.url).info('v2', bearer),
            ({ status }) => status === 401,
          );
        });

        expect(reply.status, reply.text).to.equal(401);
        expect(reply.body).to.have.nested.property('details.causes[0].reason', 'AccountDisabled');
        expect(reply.text).not.to.match(tokenInText);
        expect(provider.hits('revocation')).to.equal(1);
      });

      it(`gives no tokens to a user whose time ends during the exchange, with storage ${storage}`, async () => {
        const expired = { end: new Date(cluster.clock.now().getTime() + 30_000).toISOString() };
        const reply = await refreshDuring(async () => cluster.clock.advance(31), { expired });

        expect(reply.status, reply.text).to.equal(401);
        expect(reply.text).not.to.match(tokenInText);
        expect(provider.hits('revocation')).to.equal(1);
      });
    }

    it('continues for a user who is locked', async () => {
      provider.become('locked');
      const { browser, handle, user } = await session(service);
      const lockedUntil = new Date(cluster.clock.now().getTime() + 600_000).toISOString().replace(/\.\d+Z$/, 'Z');
      await patchUser(cluster.kubernetes, user, { status: { lockedUntil } }, '/status');

      expect((await refresh(browser, handle)).status).to.equal(200);
      expect(provider.hits('revocation')).to.equal(0);
    });
  });
});
