import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { startOfflineConsole } from './offline-console.ts';

const directory = new URL('../../../web/public/', import.meta.url);

describe('the page of the demo', () => {
  let server: Awaited<ReturnType<typeof startOfflineConsole>>;

  before(async () => {
    const config = { server: { publicURL: 'https://example.com/console' }, console: { static: { directory: 'web/public' } } };
    server = await startOfflineConsole({ config });
  });
  after(() => server.stop());

  it('loads all that it needs from below the base path', async () => {
    const html = await (await fetch(`${server.url}/console/a/deep/link`, { headers: { Accept: 'text/html' } })).text();
    const addresses = [...html.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, address]) => address ?? '');
    for (const address of addresses) expect(address).to.match(/^\/console\/[^/]/);
    const wanted = addresses.map((address) => address.slice('/console/'.length));
    const scripts = (await readdir(directory)).filter((name) => name.endsWith('.js'));

    expect(wanted).to.include.members(['console.css', 'console.js', 'mark.svg']);
    for (const name of [...wanted.filter((address) => address !== 'openapi/v3'), ...scripts]) {
      expect(name).to.match(/^[a-z]+\.(css|js|svg)$/);
      expect((await fetch(new URL(name, `${server.url}/console/`))).status, name).to.equal(200);
    }
  });

  it('keeps to the strict policy: no inline script or style, no foreign host, nothing set as markup', async () => {
    for (const name of await readdir(directory)) {
      const text = await readFile(new URL(name, directory), 'utf8');
      expect(text, name).not.to.match(
        /<style|<script(?![^>]* src=)|\sstyle=|\son[a-z]+=|javascript:|innerHTML|outerHTML|insertAdjacentHTML/,
      );
      expect(text.replaceAll('http://www.w3.org/2000/svg', ''), name).not.to.match(/https?:\/\//);
      expect(text, name).not.to.contain('document.cookie');
      // The handle of the session and the state of a logout, which are no credentials; test/tools/browser looks at what is kept.
      if (name !== 'session.js') expect(text, name).not.to.match(/localStorage|sessionStorage/);
    }
  });
});
