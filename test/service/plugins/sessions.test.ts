import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, publicURL, type Service } from '../login/support.ts';
import { type LoggedIn, session, tokens } from '../sessions/support.ts';
import { loopbackNetwork, PluginService, ServiceAuthority } from './plugin-service.ts';
import { consolePlugin } from './support.ts';

const claimsOf = (authorization: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from(authorization?.split('.')[1] ?? '', 'base64url').toString());

for (const credentials of ['passthrough', 'impersonate'] as const) {
  describe(`plugins with a session (${credentials})`, () => {
    let provider: TestProvider;
    let cluster: LoginCluster;
    let service: Service;
    let shop: PluginService;
    let jane: LoggedIn;

    before(async () => {
      const authority = await ServiceAuthority.create();
      shop = await PluginService.start(await authority.issue('shop.plugins.svc'));
      provider = await TestProvider.start({ tls: true });
      cluster = await LoginCluster.start({ trusts: provider });
      const reference = { name: 'shop', namespace: 'plugins', port: shop.port };
      await cluster.kubernetes.apply(
        consolePlugin('shop', {
          backend: { service: reference },
          proxy: [
            { alias: 'plain', service: reference },
            { alias: 'as-user', service: reference, authorization: 'UserToken' },
          ],
        }),
      );
      service = await cluster.service({
        provider,
        config: {
          server: { corsOrigins: ['https://front.example'] },
          kubernetes: { credentials },
          console: { static: { directory: 'web/dist' }, plugins: { caFile: await cluster.file(authority.certificate) } },
        },
        pluginContext: { network: loopbackNetwork() },
      });
      jane = await session(service);
    });
    after(async () => {
      await cluster?.stop();
      await provider?.stop();
      await shop?.stop();
    });
    beforeEach(() => {
      shop.received.length = 0;
    });

    const ours = () => ({ 'sec-fetch-site': 'same-origin' });

    it('get the token of the session if they are to get it, never its cookie', async () => {
      expect((await jane.browser.request('/api/proxy/plugin/shop/as-user/x')).status).to.equal(200);
      expect((await jane.browser.request('/api/proxy/plugin/shop/plain/x')).status).to.equal(200);
      expect((await jane.browser.request('/plugins/shop/x.js')).status).to.equal(200);

      const [asUser, plain, asset] = shop.received.map(({ headers }) => headers);
      expect(asUser?.authorization).to.match(/^Bearer ey/);
      expect(claimsOf(asUser?.authorization)).to.deep.include({ iss: provider.issuer });
      expect([plain?.authorization, asset?.authorization]).to.deep.equal([undefined, undefined]);
      for (const headers of [asUser, plain, asset]) expect(JSON.stringify(headers)).not.to.match(/cookie|sec-fetch|impersonate/i);
      expect(JSON.stringify(shop.received)).not.to.include(jane.secret);
    });

    it('COO-03 get no write from another site', async () => {
      const post = (headers: Record<string, string>) =>
        jane.browser.request('/api/proxy/plugin/shop/as-user/x', {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json', ...headers },
        });
      for (const headers of [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'cross-site' },
      ]) {
        const { status, body } = await post(headers as Record<string, string>);
        expect(status).to.equal(403);
        expect(body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
      }
      expect(shop.received).to.deep.equal([]);
      for (const headers of [{}, { 'sec-fetch-site': 'same-origin' }] as Record<string, string>[])
        expect((await post(headers)).status).to.equal(200);
    });

    it('COO-03 get nothing by the session for a link on a page of another site', async () => {
      const get = (headers: Record<string, string>) => jane.browser.request('/api/proxy/plugin/shop/as-user/x', { headers });
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }]) {
        const { status, body } = await get(headers as Record<string, string>);
        expect(status).to.equal(403);
        expect(body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
      }
      expect(shop.received).to.deep.equal([]);
      for (const headers of [
        {},
        { 'sec-fetch-site': 'none' },
        { origin: publicURL },
        { 'sec-fetch-site': 'cross-site', origin: 'https://front.example' },
      ])
        expect((await get(headers as Record<string, string>)).status).to.equal(200);
    });

    it('get a bearer token that the caller keeps as it is', async () => {
      const { bearer } = await tokens(service);
      const response = await fetch(`${service.url}/api/proxy/plugin/shop/as-user/x`, { headers: { Authorization: `Bearer ${bearer}` } });
      expect(response.status).to.equal(200);
      expect(shop.received[0]?.headers.authorization).to.equal(`Bearer ${bearer}`);
    });

    it('accept an access token if they get no token, which is not passed on', async () => {
      const made = await eventually(
        () =>
          jane.browser.request('/auth/v1/accesstoken', {
            method: 'POST',
            body: '{"description":"ci"}',
            headers: { 'content-type': 'application/json', ...ours() },
          }),
        ({ status }) => status === 201,
      );
      const { token } = made.body as { token: string };
      expect(token).to.match(/^cat_/);
      const send = (alias: string) =>
        fetch(`${service.url}/api/proxy/plugin/shop/${alias}/x`, { headers: { Authorization: `Bearer ${token}` } });
      expect((await send('plain')).status).to.equal(200);
      expect(shop.received[0]?.headers).not.to.have.property('authorization');
      const refused = await send('as-user');
      expect(refused.status).to.equal(403);
      expect(await refused.json()).to.have.nested.property('details.causes[0].reason', 'AccessTokenNotForwarded');
      expect(shop.received).to.have.length(1);
      expect(JSON.stringify(shop.received)).not.to.include(token);
      const denied = service.auditLines.map((line) => JSON.parse(line)).find(({ reason }) => reason === 'AccessTokenNotForwarded');
      expect(denied).to.deep.include({ audit: 'AccessDenied', outcome: 'failure', code: 403 });
    });
  });
}
