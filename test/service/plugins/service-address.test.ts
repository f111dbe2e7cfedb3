import { clusterNetwork } from '@atrium/http/outgoing.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { loopbackNetwork } from './plugin-service.ts';
import { startPluginSuite } from './support.ts';

describe('the address of a Service of a plugin', () => {
  it('PLG-03 is nowhere on this machine, on its link, at a group of machines, or where clouds keep credentials', () => {
    for (const address of [
      '127.0.0.1',
      '127.8.9.10',
      '0.0.0.0',
      '0.1.2.3',
      '169.254.169.254',
      '169.254.170.2',
      '100.100.100.200',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '2002:7f00:1::',
      'fe80::1',
      'fd00:ec2::254',
      'ff02::1',
    ])
      expect(clusterNetwork.isRefused(address), address).to.equal(true);
    for (const address of [
      '10.96.0.17',
      '172.30.4.5',
      '192.168.1.1',
      '100.64.0.1',
      '34.1.2.3',
      'fd12:3456::1',
      '2001:db8::1',
      '::ffff:10.0.0.1',
    ])
      expect(clusterNetwork.isRefused(address), address).to.equal(false);
  });

  it('PLG-03 resolves names as this machine does', async () => {
    expect(await clusterNetwork.resolve('localhost')).to.include.oneOf(['127.0.0.1', '::1']);
  });

  describe('service addresses by name', () => {
    const names: Record<string, string[]> = {};
    const suite = forSuite(() => startPluginSuite({}, { network: loopbackNetwork(names) }));

    const asset = async () => (await suite.server.request('/plugins/shop/x.js')).status;

    it('PLG-03 connects to none of the addresses of a name of which one is refused, whatever it was before', async () => {
      // The name is set from the start: the service reads the manifest by itself, a moment after it knows the plugin.
      names['shop.plugins.svc'] = ['169.254.169.254'];
      await suite.plugin('shop', { backend: { service: suite.reference() } });
      for (const addresses of [['169.254.169.254'], ['127.0.0.1', '169.254.169.254'], ['::ffff:127.0.0.1'], ['0.0.0.0'], ['::1'], []]) {
        names['shop.plugins.svc'] = addresses;
        expect(await asset(), addresses.join()).to.equal(503);
      }
      expect(suite.service.connections).to.equal(0);
      names['shop.plugins.svc'] = ['127.0.0.1'];
      expect(await asset()).to.equal(200);
    });

    it('PLG-03 never gets to the API server, not even by the name of another Service', async () => {
      const { port } = new URL(suite.server.relay.url);
      await suite.plugin('api', {
        backend: { service: suite.reference({ port: Number(port) }) },
        proxy: [{ alias: 'api', service: suite.reference({ port: Number(port) }), authorization: 'UserToken' }],
      });
      expect((await suite.server.request('/plugins/api/version')).status).to.equal(503);
      expect((await suite.server.request('/api/proxy/plugin/api/api/version', { as: 'alice' })).status).to.equal(503);
      await eventually(
        () => suite.server.logLines.filter((line) => line.includes('an address where no Service is')).length,
        (reasons) => reasons >= 2,
      );
    });

    it('PLG-03 asks for names with the ending of Services, as a whole', async () => {
      const asked: string[] = [];
      const other = await startPluginSuite(
        {},
        {
          network: {
            ...loopbackNetwork(),
            resolve: async (hostname) => {
              asked.push(hostname);
              return [];
            },
          },
        },
      );
      try {
        await other.plugin('odd', { backend: { service: other.reference({ name: '127', namespace: '1' }) } });
        expect((await other.server.request('/plugins/odd/x.js')).status).to.equal(503);
        expect(new Set(asked)).to.deep.equal(new Set(['127.1.svc']));
        const { status } = await other.server.kubernetes.call('POST', '/apis/console.platform.io/v1/consoleplugins', {
          apiVersion: 'console.platform.io/v1',
          kind: 'ConsolePlugin',
          metadata: { name: 'api' },
          spec: { displayName: 'api', proxy: [{ alias: 'api', service: { name: 'kubernetes', namespace: 'default', port: 443 } }] },
        });
        expect(status).to.equal(422);
      } finally {
        await other.stop();
      }
    });

    it('is 503 while the certificate authorities cannot be read, and says no path', async () => {
      const broken = await startPluginSuite({ config: { console: { plugins: { caFile: '/nonexistent/ca.crt' } } } });
      try {
        await broken.plugin('shop', { backend: { service: broken.reference() } });
        const response = await broken.server.request('/plugins/shop/x.js');
        expect(response.status).to.equal(503);
        expect(await response.text()).not.to.include('nonexistent');
        expect((await broken.server.request('/readyz')).status).to.equal(200);
      } finally {
        await broken.stop();
      }
    });
  });
});
