import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { rawGet } from '../../support/raw-http.ts';
import { makeDirectory, startOfflineConsole } from './offline-console.ts';

const canary = 'canary: outside of the root';

describe('HandleStaticFiles, the paths', () => {
  const directory = forSuite(
    () =>
      makeDirectory({
        'index.html': '<!doctype html><title>root</title>',
        'style.css': 'body { margin: 0 }',
        'a/index.html': '<!doctype html><title>a</title>',
        'a/x/data.json': '{"a":1}',
        'api-guide.txt': 'not below a reserved path',
        '.env': canary,
        '.git/config': canary,
        '..data/linked.txt': 'a mounted ConfigMap',
      }),
    (it) => it.remove(),
  );
  let server: Awaited<ReturnType<typeof startOfflineConsole>>;

  before(async () => {
    await writeFile(join(directory.outside, 'secret'), canary);
    await writeFile(join(directory.outside, 'static-secret'), canary);
    await symlink(join(directory.path, '..data/linked.txt'), join(directory.path, 'linked.txt'));
    await symlink(join(directory.outside, 'secret'), join(directory.path, 'leak.txt'));
    await symlink('..', join(directory.path, 'a/up'));
    server = await startOfflineConsole({ config: { console: { static: { directory: directory.path } } } });
  });
  after(() => server.stop());

  const get = (path: string) => fetch(`${server.url}${path}`);

  it('follows links inside of the root only', async () => {
    expect(await (await get('/linked.txt')).text()).to.equal('a mounted ConfigMap');
    expect((await get('/leak.txt')).status).to.equal(404);
    expect((await get('/a/up/style.css')).status).to.equal(404);
  });

  it('STA-01 reads nothing outside of the root, however the path is spelled', async () => {
    const outside = [
      '/../secret',
      '/a/../../secret',
      '/..',
      '/%2e%2e%2fsecret',
      '/%2e%2e/secret',
      '/.%2e/secret',
      '/..%5csecret',
      '/..\\secret',
      '/%c0%ae%c0%ae/secret',
      '/C:/x',
      '/c%3a/x',
      'http://localhost/../secret',
    ];
    const missing = ['/%252e%252e%252fsecret', '/..;/secret', '//etc/passwd', '/static-secret', '/./style.css', '/leak.txt', '//style.css'];
    for (const [targets, status] of [
      [outside, 400],
      [missing, 404],
    ] as const) {
      for (const target of targets) {
        for (const headers of ['', 'Accept: text/html\r\n']) {
          const answer = await rawGet(server.port, target, 'GET', headers);
          expect(answer.body, target).not.to.include('canary');
          // A name without an extension may be a page of the console.
          if (target === '/static-secret' && headers !== '') continue;
          expect(answer.status, `${target} ${headers}`).to.equal(status);
          expect(JSON.parse(answer.body), target).to.include({ kind: 'Status', status: 'Failure', code: status });
        }
      }
    }
  });

  it('STA-02 answers broken escapes with 400, and hidden or endless paths with 404', async () => {
    const cases: [target: string, status: number][] = [
      ['/%', 400],
      ['/%zz', 400],
      ['/%E0%A4%A', 400],
      ['/%00', 400],
      ['/style.css%00.html', 400],
      [`/${'x'.repeat(5000)}`, 404],
      [`/${'x/'.repeat(2500)}`, 404],
      ['/.env', 404],
      ['/%2eenv', 404],
      ['/.git/config', 404],
      ['/..data/', 404],
      ['/..data/linked.txt', 404],
      ['/a/x', 404],
      ['/a/x/', 404],
    ];
    for (const [target, status] of cases) {
      for (const headers of ['', 'Accept: text/html\r\n']) {
        const answer = await rawGet(server.port, target, 'GET', headers);
        expect(answer.status, target.slice(0, 40)).to.equal(status);
        expect(JSON.parse(answer.body)).to.include({ kind: 'Status', status: 'Failure', code: status });
      }
    }
  });

  it('STA-05 answers an unknown path of the API with a Status, never with a page', async () => {
    const paths = ['/api/x', '/apis/x', '/auth/x', '/api', '/api/', '/openapi/v9', '/plugins/x', '/api/v1/token/info/x.css'];
    for (const target of [...paths, '/%61pi/x', '/%61uth', '//api/x', '/api%2fx']) {
      const answer = await rawGet(server.port, target, 'GET', 'Accept: text/html\r\nAuthorization: Bearer good\r\n');
      expect(answer.status, target).to.equal(404);
      expect(answer.headers['cache-control'], target).to.equal('no-store');
      expect(JSON.parse(answer.body), target).to.include({ kind: 'Status', code: 404 });
    }
    expect((await get('/api-guide.txt')).status).to.equal(200);
  });

  it('answers /plugins, which users type, with the console for browsers and with a Status for programs', async () => {
    for (const target of ['/plugins', '/plugins/']) {
      const page = await rawGet(server.port, target, 'GET', 'Accept: text/html\r\n');
      expect([page.status, page.body], target).to.deep.equal([200, '<!doctype html><title>root</title>']);
      const answer = await rawGet(server.port, target, 'GET', 'Accept: application/json\r\n');
      expect(answer.status, target).to.equal(404);
      expect(JSON.parse(answer.body), target).to.include({ kind: 'Status', code: 404 });
    }
  });
});
