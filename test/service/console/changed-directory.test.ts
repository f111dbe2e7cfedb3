import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { expect } from 'chai';
import { ManualTimer } from './manual-timer.ts';
import { makeDirectory, startOfflineConsole } from './offline-console.ts';

const page = { headers: { Accept: 'text/html' } };
const look = 20_000;
const settle = 2_000;

describe('a static directory that changes', () => {
  let timer: ManualTimer;
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let server: Awaited<ReturnType<typeof startOfflineConsole>>;

  const start = async (files: Record<string, string | Buffer>, settings: Record<string, unknown> = {}, publicURL?: string) => {
    timer = new ManualTimer();
    directory = await makeDirectory(files);
    const config = {
      ...(publicURL && { server: { publicURL } }),
      console: { static: { directory: directory.path, ...settings }, envs: { theme: 'dark' } },
    };
    server = await startOfflineConsole({ config, timer });
  };
  afterEach(async () => {
    await server.stop();
    await directory.remove();
  });

  const get = (path: string, init: RequestInit = {}) => fetch(`${server.url}${path}`, init);
  const textOf = async (path: string, init: RequestInit = {}) => (await get(path, init)).text();
  const statusOf = async (path: string) => (await get(path)).status;
  const revision = async () => (JSON.parse(await textOf('/api/v1/modules')) as { _: string })._;
  const write = (name: string, text: string) => writeFile(join(directory.path, name), text);

  it('is served again once two looks see the same, and open pages still find their files', async () => {
    await start({ 'index.html': 'first', 'app.1111aaaa.js': 'one', 'plain.css': 'old' });
    const [first, etag] = [await revision(), (await get('/')).headers.get('etag')];
    await rm(join(directory.path, 'app.1111aaaa.js'));
    await rm(join(directory.path, 'plain.css'));
    await write('app.2222bbbb.js', 'two');
    await write('index.html', 'second');

    await timer.advance(look - 1);
    expect(await textOf('/')).to.equal('first');
    await timer.advance(1);
    expect(await textOf('/')).to.equal('first');
    expect(await statusOf('/app.2222bbbb.js')).to.equal(404);
    await timer.advance(settle);

    expect(await textOf('/')).to.equal('second');
    expect(await textOf('/app.2222bbbb.js')).to.equal('two');
    expect(await statusOf('/plain.css')).to.equal(404);
    const kept = await get('/app.1111aaaa.js');
    expect([kept.status, await kept.text()]).to.deep.equal([200, 'one']);
    expect(kept.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    expect(kept.headers.get('content-type')).to.equal('text/javascript; charset=utf-8');
    expect(await revision()).not.to.equal(first);
    expect((await get('/', { headers: { 'If-None-Match': etag ?? '' } })).status).to.equal(200);
  });

  it('waits while files are written', async () => {
    await start({ 'index.html': 'first' });
    await write('index.html', 'second');
    await timer.advance(look);
    for (const text of ['third', 'fourth', 'fifth']) {
      await write('index.html', text);
      await timer.advance(settle);
      expect(await textOf('/')).to.equal('first');
    }
    await timer.advance(settle);
    expect(await textOf('/')).to.equal('fifth');
  });

  it('loses the files of the set before after console.static.keepPrevious', async () => {
    await start({ 'index.html': 'first', 'app.1111aaaa.js': 'one' }, { keepPrevious: '10m' });
    await rm(join(directory.path, 'app.1111aaaa.js'));
    await timer.advance(look);
    await timer.advance(settle);
    expect(await statusOf('/app.1111aaaa.js')).to.equal(200);

    await timer.advance(599_000);
    expect(await statusOf('/app.1111aaaa.js')).to.equal(200);
    await timer.advance(2_000);
    expect(await statusOf('/app.1111aaaa.js')).to.equal(404);
  });

  it('keeps nothing of the set before with keepPrevious 0s', async () => {
    await start({ 'index.html': 'first', 'app.1111aaaa.js': 'one' }, { keepPrevious: '0s' });
    await rm(join(directory.path, 'app.1111aaaa.js'));
    await timer.advance(look);
    await timer.advance(settle);

    expect(await statusOf('/app.1111aaaa.js')).to.equal(404);
  });

  it('may be a mounted ConfigMap, whose files are swapped by one link', async () => {
    const version = async (name: string, text: string) => {
      await mkdir(join(directory.path, name));
      await writeFile(join(directory.path, name, 'index.html'), text);
      await symlink(name, join(directory.path, '..new'));
      await rename(join(directory.path, '..new'), join(directory.path, '..data'));
    };
    await start({});
    await mkdir(directory.path, { recursive: true });
    await version('..2026_01', 'first');
    await symlink('..data/index.html', join(directory.path, 'index.html'));
    await timer.advance(look);
    await timer.advance(settle);
    expect(await textOf('/')).to.equal('first');

    await version('..2026_02', 'other');
    await timer.advance(look);
    await timer.advance(settle);
    expect(await textOf('/')).to.equal('other');
    expect(await statusOf('/..data/index.html')).to.equal(404);
  });

  it('is served as it was while it is gone, and appears where it was missing at the start', async () => {
    await start({ 'index.html': 'first' });
    const away = `${directory.path}-away`;
    await rename(directory.path, away);
    await timer.advance(look);
    expect(await textOf('/')).to.equal('first');
    await rename(away, directory.path);
    await write('index.html', 'back');
    await timer.advance(look);
    await timer.advance(settle);
    expect(await textOf('/')).to.equal('back');
    await server.stop();

    const late = join(directory.outside, 'late');
    server = await startOfflineConsole({ config: { console: { static: { directory: late } } }, timer });
    const check = () => server.checks.find(({ name }) => name === 'static-files')?.failure();
    expect(check()).to.equal('the directory cannot be read');
    await mkdir(late);
    await writeFile(join(late, 'index.html'), 'late');
    await timer.advance(look);
    await timer.advance(settle);
    expect(check()).to.equal(undefined);
    expect(await textOf('/')).to.equal('late');
  });

  it('has the base path where its HTML says %BASE%, so that deep links find their assets', async () => {
    const html = '<!doctype html><script src="%BASE%app.js"></script><p>100 %BASE %base% é</p>';
    const files = { 'index.html': html, 'index.html.br': brotliCompressSync(html), 'app.js': 'const text = "%BASE%";' };
    await start(files, {}, 'https://example.com/it%27s&more');
    const response = await get('/it%27s&more/a/deep/link', page);
    const served = await response.text();

    expect(served).to.equal('<!doctype html><script src="/it%27s&amp;more/app.js"></script><p>100 %BASE %base% é</p>');
    expect(response.headers.get('content-encoding')).to.equal(null);
    expect(await textOf('/it%27s&more/app.js')).to.equal(files['app.js']);
    await server.stop();
    await directory.remove();

    await start(files);
    const other = await get('/a/deep/link', page);
    expect(await other.text()).to.include('src="/app.js"');
    expect(other.headers.get('etag')).not.to.equal(response.headers.get('etag'));
    expect(other.headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(other.headers.get('x-frame-options')).to.equal('DENY');
  });
});
