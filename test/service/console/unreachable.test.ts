import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startOfflineConsole } from './offline-console.ts';

describe('the console before the API server was ever reached', () => {
  const server = forSuite(() =>
    startOfflineConsole({ config: { console: { static: { directory: 'web/dist' }, envsConfigMap: 'environment' } } }),
  );

  it('serves pages and languages', async () => {
    for (const path of ['/', '/api/v1/i18n/languages']) expect((await fetch(`${server.url}${path}`)).status, path).to.equal(200);
  });

  it('answers 503 where it would have to guess', async () => {
    for (const path of ['/api/v1/console-plugins', '/api/v1/envs', '/api/v1/modules', '/api/v1/cm/logos/logo.png']) {
      for (const headers of [{}, { Authorization: 'Bearer good' }]) {
        const response = await fetch(`${server.url}${path}`, { headers });
        expect(response.status, path).to.equal(503);
        expect(response.headers.get('retry-after'), path).to.equal('1');
        expect(response.headers.get('cache-control'), path).to.equal('no-store');
        expect(await response.json(), path).to.deep.include({
          kind: 'Status',
          reason: 'ServiceUnavailable',
          message: 'kubernetes is not available, try again',
          code: 503,
        });
      }
    }
  });

  it('tells the anonymous what needs no cluster, and that it may be old', async () => {
    const other = await startOfflineConsole({ config: { console: { envs: { theme: 'dark' } } } });
    try {
      const response = await eventually(
        () => fetch(`${other.url}/api/v1/envs`),
        ({ headers }) => headers.has('warning'),
      );
      expect(response.status).to.equal(200);
      expect(response.headers.get('warning')).to.equal('110 - "Response is Stale"');
      expect(await response.json()).to.deep.equal({ theme: 'dark' });
    } finally {
      await other.stop();
    }
  });

  it('names missing parts without failing for them', () => {
    const check = server.checks.find(({ name }) => name === 'configmaps');

    expect(check).to.include({ critical: false });
    expect(check?.failure()).to.equal('out of date in: atrium-system');
  });
});
