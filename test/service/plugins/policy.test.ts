import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { consolePluginsPath, startPluginSuite } from './support.ts';

interface Kept {
  status?: { conditions?: { type: string; status: string; message: string }[] };
}

describe('the policy of pages with the sources of ConsolePlugins', () => {
  const suite = forSuite(() => startPluginSuite());

  const sourcesOf = async (directive: string): Promise<string[]> => {
    const policy = (await suite.server.request('/')).headers.get('content-security-policy') ?? '';
    const [, ...sources] =
      policy
        .split('; ')
        .find((part) => part.startsWith(`${directive} `))
        ?.split(' ') ?? [];
    return sources;
  };
  const untilTold = (name: string) =>
    eventually(
      async () => {
        const { status } = (await suite.server.kubernetes.call('GET', `${consolePluginsPath}/${name}`)).body as Kept;
        return status?.conditions?.find(({ type }) => type === 'Available')?.message ?? '';
      },
      (message) => message !== '',
    );

  it('refuses scripts from a whole scheme or from wildcards without a registrable name, and reports them', async () => {
    const wide = ['https:', 'http:', 'data:', 'BLOB:', 'ws:', 'filesystem:', 'https://*', '*:443', 'https://*:443', '*.com', '*.co.uk'];
    const named = ['https://cdn.example.com', '*.example.com', 'https://localhost:9001/a.js', 'cdn.example.org:*'];
    await suite.plugin('wide', { contentSecurityPolicy: [{ directive: 'ScriptSrc', values: [...wide, ...named] }] });
    // Hosts of a wildcard are verified by a list that is loaded for the first of them.
    const sources = await eventually(
      () => sourcesOf('script-src'),
      (taken) => taken.includes('*.example.com'),
    );
    expect(sources).to.deep.equal(["'self'", ...named]);
    expect(await untilTold('wide')).to.include(
      `not taken into the policy of pages: ${wide.map((value) => `ScriptSrc ${value}`).join(', ')}`,
    );

    const more = ['https:', 'data:', 'blob:', '*.github.io', 'https://*.uk:443/x'];
    await suite.plugin('wide', { contentSecurityPolicy: [{ directive: 'DefaultSrc', values: [...more, 'https://d.example'] }] });
    // The 'none' of the console's own policy has no effect beside a source.
    expect(await sourcesOf('default-src')).to.deep.equal(['https://d.example']);
    expect(await sourcesOf('script-src')).to.deep.equal(["'self'"]);
  });

  it('takes whole schemes for directives that run no code, and reports nothing where all is taken', async () => {
    await suite.plugin('pictures', { contentSecurityPolicy: [{ directive: 'FontSrc', values: ['data:', 'https:'] }] });
    expect(await sourcesOf('font-src')).to.include.members(['data:', 'https:']);
    expect(await untilTold('pictures')).to.equal('no ConfigMap labelled for the plugin holds plugin-manifest.json');
  });
});
