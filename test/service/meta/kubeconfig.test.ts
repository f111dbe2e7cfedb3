import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fetch } from 'undici';
import { parse } from 'yaml';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { Trusting } from '../../support/trusting.ts';
import type { Browser } from '../identity/browser.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const path = '/auth/v1/kubeconfig';

/** Code, and the field and message of the cause, if there is one. */
async function refusal(response: { status: number; json(): Promise<unknown> }) {
  const { kind, status, code, message, details } = (await response.json()) as {
    kind: string;
    status: string;
    code: number;
    message: string;
    details?: { causes?: { field: string }[] };
  };
  expect({ kind, status }).to.deep.equal({ kind: 'Status', status: 'Failure' });
  expect(response.status).to.equal(code);
  return { code, message, field: details?.causes?.[0]?.field };
}

describe('GET /auth/v1/kubeconfig', () => {
  const server = forSuite(() =>
    startServer({
      config: { server: { publicURL: 'https://console.example' }, kubernetes: { publicURL: 'https://api.example:6443' }, login },
    }),
  );
  const login = { issuer: 'https://issuer.example/realms/one', cli: { clientID: 'cli' }, scopes: ['openid', 'groups'] };

  it('gives a file that logs in by the plugin, with nothing secret in it', async () => {
    const token = await server.token('viewer');
    const answer = await server.request(path, { token });

    expect(answer.status).to.equal(200);
    expect(Object.fromEntries(answer.headers)).to.include({
      'content-type': 'application/yaml; charset=utf-8',
      'content-disposition': 'attachment; filename="kubeconfig.yaml"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    const text = await answer.text();
    expect(text).not.to.contain(token);
    const { clusters, users, contexts, ...rest } = parse(text);
    expect(rest).to.deep.equal({ apiVersion: 'v1', kind: 'Config', 'current-context': 'api.example:6443' });
    expect(clusters).to.have.length(1);
    expect(clusters[0].name).to.equal('api.example:6443');
    expect(clusters[0].cluster.server).to.equal('https://api.example:6443');
    const authority = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString();
    expect(authority).to.match(/^-----BEGIN CERTIFICATE-----\n/);
    expect(contexts).to.deep.equal([
      { name: 'api.example:6443', context: { cluster: 'api.example:6443', user: 'viewer/api.example:6443' } },
    ]);
    expect(users).to.have.length(1);
    const { installHint, ...exec } = users[0].user.exec;
    expect(exec).to.deep.equal({
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'kubectl-atrium',
      args: ['token', '--issuer=https://issuer.example/realms/one', '--client-id=cli', '--scopes=openid groups'],
      interactiveMode: 'IfAvailable',
      provideClusterInfo: false,
    });
    expect(installHint).to.contain('kubectl-atrium');
  });

  it('gives a file with the token of the request', async () => {
    const token = await server.token('viewer');
    const answer = await server.request(`${path}?mode=token`, { token });

    expect(answer.headers.get('cache-control')).to.equal('no-store');
    expect(parse(await answer.text()).users).to.deep.equal([{ name: 'viewer/api.example:6443', user: { token } }]);
  });

  it('names kubelogin on request', async () => {
    const text = await (await server.request(`${path}?mode=oidc-login`, { as: 'viewer' })).text();
    const { clusters, users } = parse(text);

    expect(clusters[0].cluster.server).to.equal('https://api.example:6443');
    const { installHint, ...exec } = users[0].user.exec;
    expect(exec).to.deep.equal({
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'kubectl',
      args: [
        'oidc-login',
        'get-token',
        '--oidc-issuer-url=https://issuer.example/realms/one',
        '--oidc-client-id=cli',
        '--oidc-extra-scope=groups',
      ],
      interactiveMode: 'IfAvailable',
      provideClusterInfo: false,
    });
    expect(installHint).to.contain('kubectl krew install oidc-login');
  });

  it('names the console as the server only where it accepts the token', async () => {
    for (const query of ['via=console', 'via=console&mode=oidc-login']) {
      const { code, field, message } = await refusal(await server.request(`${path}?${query}`, { as: 'viewer' }));
      expect({ code, field }).to.deep.equal({ code: 400, field: 'via' });
      expect(message).to.contain('login.audiences does not name cli');
    }
    const { clusters } = parse(await (await server.request(`${path}?via=console&mode=token`, { as: 'viewer' })).text());
    // The authorities of the system verify this address, like the user's browser does.
    expect(clusters).to.deep.equal([{ name: 'console.example', cluster: { server: 'https://console.example/api/kubernetes' } }]);
  });

  it('names the namespace of the context, and the scopes that are set for it', async () => {
    const text = await (await server.request(`${path}?namespace=shop`, { as: 'viewer' })).text();

    expect(parse(text).contexts[0].context.namespace).to.equal('shop');
  });

  it('refuses an unknown mode and an invalid namespace', async () => {
    const queries = {
      mode: ['mode=certificate', 'mode=', 'mode=token&mode=exec'],
      via: ['via=proxy', 'via=', 'via=console&via=cluster'],
      namespace: ['namespace=Shop', 'namespace=', `namespace=${'a'.repeat(64)}`, 'namespace=a%0Ab'],
    };
    for (const [field, refused] of Object.entries(queries))
      for (const query of refused)
        expect(await refusal(await server.request(`${path}?${query}`, { as: 'viewer' })), query).to.deep.include({ code: 400, field });
    for (const query of ['mode=certificate', 'via=cluster&mode=certificate']) {
      const { message } = await refusal(await server.request(`${path}?${query}`, { as: 'viewer' }));
      expect(message).to.contain('POST /auth/v1/authorize');
    }
  });

  it('is for every caller with a credential, and no other', async () => {
    expect((await server.request(path, { as: 'nobody' })).status).to.equal(200);
    expect((await server.request(path)).status).to.equal(401);
    expect((await server.request(path, { token: 'none.of.ours' })).status).to.equal(401);
    expect((await server.request(path, { as: 'viewer', method: 'POST' })).status).to.equal(405);
  });
});

describe('GET /auth/v1/kubeconfig, where login is not configured', () => {
  const server = forSuite(() => startServer());

  it('has no plugin to offer, but takes tokens', async () => {
    const answer = await refusal(await server.request(path, { as: 'viewer' }));
    expect(answer).to.deep.equal({ code: 400, message: 'login is not configured', field: undefined });
    const { clusters } = parse(await (await server.request(`${path}?mode=token`, { as: 'viewer' })).text());
    expect(clusters[0].cluster.server).to.equal(server.relay.url);
  });
});

describe('GET /auth/v1/kubeconfig of a service whose chain ends in an authority of its own', () => {
  let authority: string;
  let trusting: Trusting;
  const files = forSuite(
    async () => ({ directory: await mkdtemp(join(tmpdir(), 'atrium-kubeconfig-')) }),
    ({ directory }) => rm(directory, { recursive: true }),
  );
  const server = forSuite(async () => {
    const { authority: root, serving } = await loopbackCertificates();
    authority = root.certificate;
    trusting = new Trusting(authority);
    const [certFile, keyFile] = ['tls.crt', 'tls.key'].map((name) => join(files.directory, name)) as [string, string];
    await writeFile(certFile, `${serving.certificate}\n${authority}`);
    await writeFile(keyFile, serving.key, { mode: 0o600 });
    return startServer({ config: { server: { publicURL: 'https://console.example/atrium/', tls: { certFile, keyFile } } } });
  });
  after(() => trusting?.close());

  it('trusts that authority, and names the base path', async () => {
    const headers = { authorization: `Bearer ${await server.token('viewer')}` };
    const url = `https://127.0.0.1:${server.port}/atrium${path}?via=console&mode=token`;
    const text = await (await fetch(url, { headers, dispatcher: trusting })).text();
    const [{ name, cluster }] = parse(text).clusters;
    expect(name).to.equal('console.example/atrium');
    expect(cluster.server).to.equal('https://console.example/atrium/api/kubernetes');
    expect(Buffer.from(cluster['certificate-authority-data'], 'base64').toString().trim()).to.equal(authority.trim());
  });
});

for (const [reason, config] of Object.entries({
  'features.kubernetesProxy is disabled': { features: { kubernetesProxy: false }, server: { publicURL: 'https://console.example' } },
  'server.publicURL is not set': {},
  'kubectl sends no credentials to an http address': { server: { publicURL: 'http://console.example' } },
}))
  describe(`GET /auth/v1/kubeconfig where ${reason}`, () => {
    const server = forSuite(() => startServer({ config }));

    it('cannot name the console', async () => {
      const { code, field, message } = await refusal(await server.request(`${path}?via=console&mode=token`, { as: 'viewer' }));
      expect({ code, field }).to.deep.equal({ code: 400, field: 'via' });
      expect(message).to.contain(reason);
      expect((await server.request(`${path}?mode=token`, { as: 'viewer' })).status).to.equal(200);
    });
  });

describe('GET /auth/v1/kubeconfig, turned off', () => {
  const server = forSuite(() => startServer({ config: { features: { kubeconfig: false } } }));

  it('is not there', async () => {
    expect(await refusal(await server.request(path, { as: 'viewer' }))).to.deep.include({ code: 404 });
  });
});

for (const credentials of ['passthrough', 'impersonate'] as const)
  describe(`GET /auth/v1/kubeconfig with a login, ${credentials}`, () => {
    const service = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password, credentials }));
    let browser: Browser;
    let bearer: string;
    before(async () => {
      ({ browser } = await service.logIn(jane.email, jane.password));
      const kept = await service.logIn(jane.email, jane.password, '?token_storage=local');
      bearer = JSON.parse(kept.body).ext.token.id_token;
    });

    const bySession = async (query = '') => {
      const { response, body } = await browser.get(`${service.url}${path}${query}`);
      return { status: response.status, body, json: async () => JSON.parse(body) };
    };
    const byToken = (query: string) => service.request(`${path}${query}`, { headers: { authorization: `Bearer ${bearer}` } });

    it('hands out no token of a session', async () => {
      const answer = await bySession('?mode=token');

      expect(await refusal(answer)).to.deep.include({ code: 400, field: 'mode' });
      expect(answer.body).not.to.match(/ey[\w-]+\.ey/);
    });

    if (credentials === 'passthrough')
      it('gives logged-in users a file that logs in by itself and trusts the certificate authority of the issuer', async () => {
        const answer = await bySession();
        expect(answer.status, answer.body).to.equal(200);
        const { users } = parse(answer.body);
        expect(users[0].name).to.match(/^jane@example\.com\/127\.0\.0\.1:\d+$/);
        const { args } = users[0].user.exec;
        expect(args.slice(0, 4)).to.deep.equal([
          'token',
          `--issuer=${service.url}/identity`,
          '--client-id=kubectl',
          '--scopes=openid profile email groups offline_access',
        ]);
        const [, authority] = /^--ca-data=(.*)$/.exec(args[4]) ?? [];
        expect(Buffer.from(authority ?? '', 'base64').toString()).to.equal(service.cluster.certificateAuthority);
        expect(answer.body).not.to.match(/ey[\w-]+\.ey/);

        expect(parse(await (await byToken('?mode=token')).text()).users[0].user).to.deep.equal({ token: bearer });
      });
    else {
      it('names the console, whose tokens the API server does not accept', async () => {
        const { host } = new URL(service.url);
        const answers = [await bySession(), await bySession('?via=console'), await byToken(''), await byToken('?mode=oidc-login')];
        for (const [index, answer] of answers.entries()) {
          const text = index < 2 ? (answer as { body: string }).body : await (answer as Response).text();
          expect(answer.status, text).to.equal(200);
          expect(text).not.to.match(/ey[\w-]+\.ey/);
          const { clusters, users } = parse(text);
          expect(clusters[0].name).to.equal(host);
          expect(clusters[0].cluster.server).to.equal(`${service.url}/api/kubernetes`);
          const authority = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString();
          expect(authority).to.equal(service.cluster.certificateAuthority);
          expect(users[0].name).to.equal(`${jane.email}/${host}`);
        }
        const { clusters, users } = parse(await (await byToken('?mode=token')).text());
        expect(clusters[0].cluster.server).to.equal(`${service.url}/api/kubernetes`);
        expect(users[0].user).to.deep.equal({ token: bearer });
      });

      it('refuses to name the API server, and names the accepted values', async () => {
        for (const query of ['?via=cluster', '?via=cluster&mode=oidc-login', '?via=cluster&mode=token']) {
          const { code, field, message } = await refusal(await byToken(query));
          expect({ code, field }).to.deep.equal({ code: 400, field: 'via' });
          expect(message).to.contain('via=console works').and.to.contain('POST /auth/v1/authorize');
        }
      });
    }
  });
