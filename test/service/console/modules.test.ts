import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { theConsole } from '../../support/static-directory.ts';
import { configMap, mayGetConfigMap } from './objects.ts';
import { makeDirectory, startOfflineConsole } from './offline-console.ts';

interface Modules {
  environment: { key: string; value: string }[];
  _: string;
}

describe('HandleModules', () => {
  const server = forSuite(() =>
    startServer({
      config: {
        console: {
          static: { directory: theConsole },
          environment: [
            { key: 'zone', value: 'eu' },
            { key: 'theme', value: 'fixed' },
          ],
          envs: { theme: 'light', motd: 'hello' },
          envsConfigMap: 'console-environment',
        },
      },
    }),
  );

  const modules = async (options = {}) => (await (await server.request('/api/v1/modules', options)).json()) as Modules;

  it('returns every field of the page, without a token', async () => {
    const response = await server.request('/api/v1/modules');

    expect(response.status).to.equal(200);
    expect(response.headers.get('cache-control')).to.equal('no-cache');
    const { _: revision, ...fields } = (await response.json()) as Modules;
    expect(revision).to.match(/^[0-9a-f]{16}$/);
    expect(fields).to.deep.equal({
      apiAddress: '',
      assetsHostPath: theConsole,
      assetsURLPath: '/',
      environment: [
        { key: 'zone', value: 'eu' },
        { key: 'theme', value: 'fixed' },
        { key: 'motd', value: 'hello' },
      ],
      envsFilter: '^CONSOLE_PUBLIC_',
      recurveIndex: true,
    });
  });

  it('adds the variables that the caller may see, with a revision of their own', async () => {
    await server.kubernetes.apply(
      configMap('console-environment', {}, { data: { motd: 'for some', extra: 'more' } }),
      ...mayGetConfigMap('alice', 'console-environment'),
    );
    const seen = await eventually(
      () => modules({ as: 'alice' }),
      ({ environment }) => environment.some(({ key }) => key === 'extra'),
    );

    expect(seen.environment.slice(2)).to.deep.equal([
      { key: 'extra', value: 'more' },
      { key: 'motd', value: 'for some' },
    ]);
    const anonymous = await modules();
    expect(anonymous.environment).to.deep.include({ key: 'motd', value: 'hello' });
    expect(anonymous._).not.to.equal(seen._);
    expect((await modules({ as: 'bob' }))._).to.equal(anonymous._);
  });

  it('refuses a token that is not accepted', async () => {
    expect((await server.request('/api/v1/modules', { token: 'garbage' })).status).to.equal(401);
  });

  it('indents on request, under another ETag', async () => {
    const plain = await server.request('/api/v1/modules');
    const pretty = await server.request('/api/v1/modules?pretty=true');

    expect(await pretty.text()).to.equal(`${JSON.stringify(await plain.json(), null, 2)}\n`);
    expect(pretty.headers.get('etag')).not.to.equal(plain.headers.get('etag'));
  });

  it('says where the configuration puts API and assets', async () => {
    const cases: [config: Record<string, unknown>, expected: Record<string, unknown>][] = [
      [
        { server: { publicURL: 'https://example.com/console/' } },
        { apiAddress: 'https://example.com/console', assetsURLPath: '/console/' },
      ],
      [
        {
          server: { publicURL: 'https://example.com' },
          console: { apiAddress: 'https://api.example.com', assetsURLPath: '/assets/', assetsHostPath: '../x' },
        },
        { apiAddress: 'https://api.example.com', assetsURLPath: '/assets/', assetsHostPath: '../x' },
      ],
      [{ console: { recurveIndex: false, envsFilter: '^X_' } }, { recurveIndex: false, envsFilter: '^X_', assetsHostPath: 'public' }],
    ];
    for (const [config, expected] of cases) {
      const other = await startOfflineConsole({ config });
      try {
        const base = 'server' in config && String(expected.assetsURLPath) === '/console/' ? '/console' : '';
        expect(await (await fetch(`${other.url}${base}/api/v1/modules`)).json()).to.include(expected);
      } finally {
        await other.stop();
      }
    }
  });

  it('changes its revision with any of the static files, and only then', async () => {
    const revisionOf = async (files: Record<string, string>) => {
      const directory = await makeDirectory(files);
      const other = await startOfflineConsole({ config: { console: { assetsHostPath: 'x', static: { directory: directory.path } } } });
      try {
        return ((await (await fetch(`${other.url}/api/v1/modules`)).json()) as Modules)._;
      } finally {
        await other.stop();
        await directory.remove();
      }
    };
    const first = await revisionOf({ 'index.html': 'a', 'app.js': '1' });

    expect(await revisionOf({ 'index.html': 'a', 'app.js': '1' })).to.equal(first);
    expect(await revisionOf({ 'index.html': 'a', 'app.js': '2' })).not.to.equal(first);
  });
});
