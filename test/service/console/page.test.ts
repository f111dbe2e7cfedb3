import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { startOfflineConsole } from './offline-console.ts';

const directory = new URL('../../../web/dist/', import.meta.url);
const page = { headers: { Accept: 'text/html' } };

describe('the console that the service brings', () => {
  let server: Awaited<ReturnType<typeof startOfflineConsole>>;

  before(async () => {
    const config = { server: { publicURL: 'https://example.com/console' }, console: { static: { directory: 'web/dist' } } };
    server = await startOfflineConsole({ config });
  });
  after(() => server.stop());

  const fetchFile = (name: string, init?: RequestInit) => fetch(new URL(name, `${server.url}/console/`), init);

  it('loads all that it needs from below the base path, pinned and compressed', async () => {
    const html = await (await fetchFile('a/deep/link', page)).text();
    const addresses = [...html.matchAll(/(?:href|src|data-base)="([^"#]+)"/g)].map(([, address]) => address ?? '');
    for (const address of addresses) expect(address).to.match(/^\/console\//);
    const wanted = addresses.map((address) => address.slice('/console/'.length));

    expect(html).not.to.contain('%BASE%');
    expect(wanted.filter((name) => name.endsWith('.js'))).not.to.deep.equal([]);
    expect(wanted.filter((name) => name.endsWith('.css'))).to.have.lengthOf(1);
    for (const name of wanted.filter((address) => address.startsWith('assets/'))) {
      const answer = await fetchFile(name, { headers: { 'Accept-Encoding': 'br' } });
      expect(answer.status, name).to.equal(200);
      expect(answer.headers.get('cache-control'), name).to.equal('public, max-age=31536000, immutable');
      if ((await answer.arrayBuffer()).byteLength >= 512) expect(answer.headers.get('content-encoding'), name).to.equal('br');
    }
  });

  it('comes under a policy that names no other host, and lets no script make markup of text', async () => {
    const policy = (await fetchFile('', page)).headers.get('content-security-policy');

    expect(policy).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
  });

  it('has nothing inline, and sets nothing as markup', async () => {
    const html = await readFile(new URL('index.html', directory), 'utf8');
    expect(html).not.to.match(/<style|<script(?![^>]* src=)|\sstyle=|\son[a-z]+=|javascript:/);
    for (const name of globSync('../../../web/src/**/*.{ts,tsx}', { cwd: import.meta.dirname })) {
      const text = await readFile(new URL(name, import.meta.url), 'utf8');
      expect(text, name).not.to.match(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.(cookie|write)/);
    }
  });

  it('answers robots with a file of its own, not with the index', async () => {
    const answer = await fetchFile('robots.txt', page);

    expect(answer.headers.get('content-type')).to.match(/^text\/plain/);
    expect(await answer.text()).to.contain('Disallow: /');
  });
});
