import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Browser } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { Clock, LoginCluster } from '../login/support.ts';
import { type LoggedIn, session, tokens } from '../sessions/support.ts';

const refusedPerMinute = 600;

for (const credentials of ['passthrough', 'impersonate'] as const)
  describe(`junk tokens from the address of honest callers (${credentials})`, () => {
    const clock = new Clock();
    const provider = forSuite(() => TestProvider.start({ tls: true, now: clock.now }));
    const cluster = forSuite(() => LoginCluster.start({ clock, trusts: provider }));
    const service = forSuite(() =>
      cluster.service({
        provider,
        config: { kubernetes: { credentials }, features: { accessTokens: true }, login: { tokenStorage: ['local', 'cookie'] } },
      }),
    );
    let idle: LoggedIn;
    let accessToken: string;

    before(async () => {
      idle = await session(service);
      const made = await eventually(
        () =>
          idle.browser.request('/auth/v1/accesstoken', {
            method: 'POST',
            body: '{"description":"ci"}',
            headers: { 'content-type': 'application/json' },
          }),
        ({ status }) => status === 201,
      );
      accessToken = (made.body as { token: string }).token;
    });

    const ask = async (bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ spec: { nonResourceAttributes: { path: '/', verb: 'get' } } });
      return (await new Browser(service.url).request('/auth/v1/selfsubjectaccessreviews', { method: 'POST', headers, body })).status;
    };

    it('LIM-13 are refused, and no honest caller is', async () => {
      // All requests are in one minute, also on a slow machine.
      clock.freeze();
      for (let sent = 0; sent < 700; sent += 50) {
        const statuses = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`junk-${sent + index}`)));
        const wanted = sent < refusedPerMinute ? 401 : 429;
        for (const status of statuses) expect(status).to.equal(wanted);
      }
      const { status } = await idle.browser.request('/auth/v1/sessions');
      expect(status, 'an idle session').to.equal(200);
      expect(await ask(accessToken), 'an access token').to.equal(201);
      const { bearer } = await tokens(service);
      expect(await ask(bearer), 'the first use of a new bearer').to.equal(201);
      const again = await session(service);
      expect((await again.browser.info('v2')).status, 'a new login').to.equal(200);
      expect(await ask('junk-again'), 'junk').to.equal(429);
    });
  });
