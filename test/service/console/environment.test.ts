import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { configMap, mayGetConfigMap, publicLabel } from './objects.ts';
import { startOfflineConsole } from './offline-console.ts';

const secrets = {
  CLIENT_SECRET: 'canary',
  KUBECONFIG: 'canary',
  X_TOKEN: 'canary',
  DB_PASSWORD: 'canary',
  tls_private: 'canary',
  Aws_Credential_File: 'canary',
  SIGNING_KEY: 'canary',
  ATRIUM_SERVER__PORT: 'canary',
  CONSOLE_PUBLIC_API_TOKEN: 'canary',
  CONSOLE_PUBLIC_MAPS_KEY: 'canary',
};

describe('HandleEnvVars', () => {
  const server = forSuite(() =>
    startServer({
      environment: { ...secrets, PATH: '/bin', CONSOLE_PUBLIC_DOCS_URL: 'https://docs.example', CONSOLE_PUBLIC_COLOR: 'red' },
      config: {
        console: {
          envs: { CONSOLE_PUBLIC_COLOR: 'blue', theme: 'light', Zoom: '1' },
          envsConfigMap: 'console-environment',
          debugImage: 'registry.example.com/debug:1',
        },
      },
    }),
  );

  const text = async (options = {}) => (await server.request('/api/v1/envs', options)).text();
  const base =
    '{"CONSOLE_PUBLIC_COLOR":"blue","CONSOLE_PUBLIC_DOCS_URL":"https://docs.example","Zoom":"1","debug.image":"registry.example.com/debug:1","theme":"light"}';

  it('merges process variables and configuration, in the byte order of the names', async () => {
    const response = await server.request('/api/v1/envs');

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).to.equal('no-cache');
    expect(response.headers.get('vary')).to.equal('Authorization, Cookie');
    expect(response.headers.get('warning')).to.equal(null);
    expect(await response.text()).to.equal(base);
  });

  it('adds the ConfigMap for callers who may see it, and follows its changes', async () => {
    await server.kubernetes.apply(
      configMap('console-environment', {}, { data: { theme: 'dark', '10': 'ten', '9': 'nine', ['__proto__']: 'own' } }),
      ...mayGetConfigMap('alice', 'console-environment'),
    );
    const merged =
      '{"10":"ten","9":"nine","CONSOLE_PUBLIC_COLOR":"blue","CONSOLE_PUBLIC_DOCS_URL":"https://docs.example","Zoom":"1","__proto__":"own","debug.image":"registry.example.com/debug:1","theme":"dark"}';
    expect(
      await eventually(
        () => text({ as: 'alice' }),
        (answer) => answer.includes('dark'),
      ),
    ).to.equal(merged);
    expect(await text()).to.equal(base);
    expect(await text({ as: 'bob' })).to.equal(base);
    expect((await server.request('/api/v1/envs', { as: 'alice' })).headers.get('cache-control')).to.equal('private, no-cache');

    await server.kubernetes.apply(configMap('console-environment', publicLabel, {}));
    expect(
      await eventually(
        () => text(),
        (answer) => answer.includes('dark'),
      ),
    ).to.equal(merged);
    const etag = (await server.request('/api/v1/envs')).headers.get('etag') ?? '';
    expect((await server.request('/api/v1/envs', { headers: { 'If-None-Match': etag } })).status).to.equal(304);
  });

  it('refuses a token that is not accepted', async () => {
    const response = await server.request('/api/v1/envs', { token: 'garbage' });

    expect(response.status).to.equal(401);
    expect(await response.json()).to.include({ kind: 'Status', reason: 'Unauthorized', code: 401 });
  });

  it('LEAK-05 shows no secret process variable, whatever the filter lets through', async () => {
    const environment = { ...secrets, HARMLESS: 'shown' };
    const named = 'HARMLESS|CLIENT_SECRET|KUBECONFIG|X_TOKEN|DB_PASSWORD';
    for (const envsFilter of ['', '.*', '^', '(?:)', '(?!)|.', named]) {
      const other = await startOfflineConsole({ environment, config: { console: { envsFilter } } });
      try {
        for (const path of ['/api/v1/envs', '/api/v1/modules']) {
          const body = await (await fetch(`${other.url}${path}`)).text();
          expect(body, `${path} ${envsFilter}`).to.include('shown').and.not.to.include('canary');
        }
      } finally {
        await other.stop();
      }
    }
    const admitting = await startServer({ environment, config: { console: { envsFilter: '.*' } } });
    try {
      for (const path of ['/api/v1/envs', '/api/v1/modules']) {
        const body = await (await admitting.request(path, { as: 'admin' })).text();
        expect(body, path).to.include('shown').and.not.to.include('canary');
      }
    } finally {
      await admitting.stop();
    }
  });

  it('answers the anonymous as it last did while the API server is out of reach, and others with 503', async () => {
    const token = await server.token('alice');
    const before = await text();
    expect(await text({ token })).to.equal(before);
    await server.relay.cut();
    try {
      for (const path of ['/api/v1/envs', '/api/v1/modules']) {
        const stale = await eventually(
          () => server.request(path),
          ({ headers }) => headers.has('warning'),
        );
        expect(stale.status).to.equal(200);
        expect(stale.headers.get('warning')).to.equal('110 - "Response is Stale"');
        const refused = await eventually(
          () => server.request(path, { token }),
          ({ status }) => status !== 200,
        );
        expect(refused.status).to.equal(503);
      }
      expect(await text()).to.equal(before);
    } finally {
      await server.relay.mend();
    }
  });
});
