import { expect } from 'chai';
import { keepConsolePlugin } from '../../../src/plugins/console-plugins.ts';
import { choosePolicy, PublicSuffixes } from '../../../src/plugins/content-security-policy.ts';

const keep = (spec: unknown, status?: unknown) =>
  keepConsolePlugin({
    metadata: { name: 'shop', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', generation: 2 },
    spec,
    status,
  });
const service = { name: 'shop', namespace: 'plugins', port: 443 };

describe('validation of a ConsolePlugin', () => {
  it('is enabled and comes from ConfigMaps unless it says otherwise', () => {
    expect(keep(undefined)).to.deep.include({
      name: 'shop',
      generation: 2,
      isEnabled: true,
      backend: undefined,
      policy: [],
    });
    expect(keep({ enabled: false }).isEnabled).to.equal(false);
    expect(keep({ backend: {} }).backend).to.equal(undefined);
  });

  it('knows the Service, its base path without the slash at its end', () => {
    for (const [basePath, kept] of Object.entries({ '/': '', '': '', '/a/b/': '/a/b', 'a/b': '/a/b', '//a': '/a' }))
      expect(keep({ backend: { service: { ...service, basePath } } }).backend, basePath).to.deep.equal({ ...service, basePath: kept });
    expect(keep({ backend: { service } }).backend).to.deep.equal({ ...service, basePath: '' });
  });

  it('PLG-03 takes no address, no API server and no way upwards for a Service, also where the definition was loosened', () => {
    for (const over of [
      { name: '169.254.169.254' },
      { name: '[::ffff:127.0.0.1]' },
      { name: 'kubernetes.default' },
      { name: 'kubernetes', namespace: 'default' },
      { name: 'evil.example#' },
      { namespace: 'a/b' },
      { name: 'SHOP' },
      { port: 0 },
      { port: '443' },
      { basePath: '/../x' },
      { basePath: '/a/./b' },
      { basePath: '/%2e%2e' },
      { basePath: '/a?b' },
      { basePath: '/a\\b' },
    ]) {
      const entry = { ...service, ...over };
      const plugin = keep({
        backend: { service: entry },
        proxy: [
          { alias: 'a', service: entry },
          { alias: 'b', service },
        ],
      });
      expect(plugin.backend, JSON.stringify(over)).to.equal('unfit');
      expect([...plugin.proxies.keys()]).to.deep.equal(['b']);
    }
  });

  it('omits invalid sources, and keeps the others', () => {
    const plugin = keep(
      {
        proxy: [
          { alias: 'a b', service },
          { alias: 'ok', service, authorization: 'UserToken', caCertificate: 'x' },
          7,
          { alias: 'none', service },
        ],
        contentSecurityPolicy: [{ directive: 'ImgSrc', values: ['https://a.example'] }, { directive: 'ImgSrc', values: [1] }, null],
      },
      { version: 7, conditions: [{ type: 'Available', status: 'True' }, 'x'] },
    );
    expect(plugin.proxies.get('ok')).to.deep.include({ authorization: 'UserToken', caCertificate: 'x' });
    expect(plugin.proxies.get('none')).to.deep.include({ authorization: 'None' });
    expect(plugin.proxies.size).to.equal(2);
    expect(plugin.policy).to.deep.equal([{ directive: 'ImgSrc', values: ['https://a.example'] }]);
    expect(plugin.status.version).to.equal(undefined);
    expect(plugin.status.conditions).to.have.length(1);
  });

  it('extends a policy, and never lifts it: no keyword, no wildcard, no second directive', () => {
    const values = ["'unsafe-inline'", '*', 'https://a.example; script-src *', 'a,b', 'a b', '"x"', "'none'", ''];
    for (const directive of ['ScriptSrc', 'ImgSrc']) {
      const { taken, refused } = choosePolicy(keep({ contentSecurityPolicy: [{ directive, values }] }).policy, new PublicSuffixes());
      expect(taken).to.deep.equal([{ directive, values: [] }]);
      expect(refused).to.have.length(values.length);
    }
  });

  it('takes a wildcard for scripts once the list of public suffixes is there, and none before', async () => {
    const suffixes = new PublicSuffixes();
    const asked = [{ directive: 'ScriptSrc', values: ['*.example.com', '*.co.uk'] }];
    expect(choosePolicy(asked, suffixes).taken).to.deep.equal([{ directive: 'ScriptSrc', values: [] }]);
    await suffixes.loadFor([{ directive: 'ImgSrc', values: ['*.example.com'] }]);
    expect(suffixes.revision, 'pictures need no list').to.equal(0);
    await suffixes.loadFor(asked);
    expect(suffixes.revision).to.equal(1);
    expect(choosePolicy(asked, suffixes).taken).to.deep.equal([{ directive: 'ScriptSrc', values: ['*.example.com'] }]);
  });
});
