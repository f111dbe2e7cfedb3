import { expect } from 'chai';
import { startServer } from '../../support/server.ts';
import { makeDirectory } from './offline-console.ts';

const files = {
  'index.html': 'index',
  'app.js': 'app',
  version: 'shadowed',
  'docs/index.html': 'shadowed',
  'docs/deep/page.html': 'served',
  'plugins/x': 'shadowed',
  'api/v1/y.json': 'shadowed',
  'identity/login.js': 'shadowed with the embedded issuer only',
  'versions.txt': 'served',
};

describe('static files whose paths are the service’s own', () => {
  const shadowed = async (config: Record<string, unknown>) => {
    const directory = await makeDirectory(files);
    const server = await startServer({ config: { ...config, console: { static: { directory: directory.path } } } });
    try {
      const lines = server.logLines.map((line) => JSON.parse(line) as { msg: string; files?: string[]; level: string });
      const named = lines.find(({ msg }) => msg.startsWith('static files are not served'));
      for (const [file, text] of Object.entries(files)) {
        const answer = await (await server.request(`/${file}`)).text();
        expect(answer === text, file).to.equal(!named?.files?.includes(file));
      }
      return named;
    } finally {
      await server.stop();
      await directory.remove();
    }
  };

  it('are named at the start, and those alone are not served', async () => {
    expect(await shadowed({})).to.deep.include({
      level: 'warn',
      files: ['api/v1/y.json', 'docs/index.html', 'plugins/x', 'version'],
      count: 4,
    });
  });

  it('are fewer where features are off', async () => {
    expect((await shadowed({ features: { version: false, docs: false } }))?.files).to.deep.equal(['api/v1/y.json', 'plugins/x']);
  });
});
