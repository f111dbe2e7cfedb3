import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { type Connection, inClusterConnection } from '@atrium/kubernetes/connection.ts';
import { kubeconfigConnection } from '@atrium/kubernetes/kubeconfig-connection.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { type KeyPair, loopbackCertificates } from '../../../test/cluster/certificates.ts';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { FakeApiServer, failureOf, forever, json, silentLog, status } from './fake-api-server.ts';
import { FakeResource } from './fake-resource.ts';

const call = { call: 'get things', method: 'GET', path: '/api/v1/things' } as const;

describe('a connection to the API server', () => {
  let directory: string;
  let certificates: { authority: KeyPair; serving: KeyPair };
  let server: FakeApiServer;
  let client: KubernetesClient | undefined;

  const write = (name: string, content: string) => writeFile(join(directory, name), content);
  const clientNow = () => {
    if (client === undefined) throw new Error('not connected');
    return client;
  };
  const ask = () => clientNow().asService.request({ ...call, signal: forever() });
  const seenTokens = () => server.requests.map(({ headers }) => headers.authorization);
  function use(connection: Connection): void {
    client = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics: new Metrics() });
  }

  before(async () => {
    certificates = await loopbackCertificates();
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-connection-'));
    server = await new FakeApiServer(certificates.serving).start();
    server.answer(({ headers }, response) =>
      headers.authorization?.startsWith('Bearer old') ? status(response, 401, 'Unauthorized') : json(response, 200, { fine: true }),
    );
  });
  afterEach(async () => {
    await client?.close();
    client = undefined;
    await server.stop();
    await rm(directory, { recursive: true });
  });

  describe('in a pod', () => {
    let now: number;

    beforeEach(async () => {
      now = 0;
      await write('ca.crt', certificates.authority.certificate);
      await write('token', 'first\n');
      await write('namespace', 'atrium-system\n');
    });
    const connect = () =>
      inClusterConnection({
        directory,
        environment: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(server.port) },
        clock: () => now,
      });

    it('has the address from the environment and the rest from the service account', async () => {
      const connection = await connect();
      use(connection);

      expect(await ask()).to.deep.equal({ fine: true });
      expect(connection.server).to.equal(`https://127.0.0.1:${server.port}`);
      expect(connection.namespace).to.equal('atrium-system');
      expect(seenTokens()).to.deep.equal(['Bearer first']);
    });

    it('puts an IPv6 address into brackets', async () => {
      const { server: address } = await inClusterConnection({
        directory,
        environment: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' },
      });

      expect(address).to.equal('https://[fd00::1]:443');
    });

    it('is refused outside of one, and without a service account', async () => {
      expect(await failureOf(inClusterConnection({ directory, environment: {} })))
        .to.be.an('error')
        .with.property('message')
        .that.includes('not in a cluster');
      await write('token', ' \n');
      expect(await failureOf(connect()))
        .to.be.an('error')
        .with.property('message')
        .that.includes('empty');
      await rm(join(directory, 'token'));
      expect(await failureOf(connect())).to.have.property('code', 'ENOENT');
    });

    it('FLT-08 uses a rotated token within 60 s', async () => {
      use(await connect());
      await ask();
      await write('token', 'second');
      now = 59_999;
      await ask();
      now = 60_000;
      await ask();

      expect(seenTokens()).to.deep.equal(['Bearer first', 'Bearer first', 'Bearer second']);
    });

    it('FLT-08 reads the token again at once when the old one is refused, and makes the call again', async () => {
      await write('token', 'old');
      use(await connect());
      await write('token', 'second');

      expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal(Array(3).fill({ fine: true }));
      expect(await ask()).to.deep.equal({ fine: true });
      expect(seenTokens().filter((token) => token === 'Bearer second')).to.have.length(4);
    });

    it('FLT-08 continues a refused watch with the new token', async () => {
      const resource = new FakeResource('/api/v1/things');
      resource.put('a', '1');
      await write('token', 'first');
      use(await connect());
      let refused = 'Bearer none';
      server.answer((request, response) =>
        request.headers.authorization === refused ? status(response, 401, 'Unauthorized') : resource.answer(request, response),
      );
      const cache = new WatchCache<string>(
        { client: clientNow().asService, log: silentLog, metrics: new Metrics() },
        { name: 'things', type: { group: '', version: 'v1', resource: 'things' }, keep: ({ data }) => String(data) },
      );
      cache.start();
      await eventually(
        () => resource.watchers,
        (watchers) => watchers === 1,
      );
      await write('token', 'second');
      refused = 'Bearer first';
      resource.detach().destroy();
      resource.put('b', '2');
      await eventually(
        () => cache.get('b'),
        (row) => row === '2',
      );

      expect(seenTokens().at(-1)).to.equal('Bearer second');
      await cache.stop();
    });

    it('FLT-08 does not read it again for a refusal of another token', async () => {
      const connection = await connect();
      await write('token', 'second');
      connection.discardAuthorization('Bearer another');
      expect(await connection.authorization()).to.equal('Bearer first');
      connection.discardAuthorization('Bearer first');

      expect(await connection.authorization()).to.equal('Bearer second');
    });

    it('FLT-08 says 503 when the new token is refused too', async () => {
      await write('token', 'old');
      use(await connect());
      await write('token', 'old too');

      expect(await failureOf(ask())).to.have.nested.property('status.code', 503);
      expect(seenTokens()).to.deep.equal(['Bearer old', 'Bearer old too']);
    });

    it('FLT-08 says 503 while the token is refused or missing, and asks only once with it', async () => {
      await write('token', 'old');
      use(await connect());

      expect(await failureOf(ask())).to.have.nested.property('status.code', 503);
      expect(server.requests).to.have.length(1);
      await rm(join(directory, 'token'));
      expect(await failureOf(ask())).to.have.nested.property('status.code', 503);
      expect(await failureOf(ask())).to.have.nested.property('status.code', 503);
      await write('token', 'second');
      expect(await ask()).to.deep.equal({ fine: true });
    });

    it('trusts no other certificate authority than its own', async () => {
      await write('ca.crt', (await loopbackCertificates()).authority.certificate);
      use(await connect());

      expect(await failureOf(ask())).to.have.nested.property('status.code', 503);
      expect(client?.failure()).to.match(/^[A-Z_]+$/);
      expect(server.requests).to.deep.equal([]);
    });

    it('follows a certificate authority that is replaced', async () => {
      await write('ca.crt', (await loopbackCertificates()).authority.certificate);
      use(await connect());
      await failureOf(ask());
      await write('ca.crt', certificates.authority.certificate);
      now = 60_000;

      expect(await ask()).to.deep.equal({ fine: true });
    });
  });

  describe('by a kubeconfig', () => {
    const file = (user: unknown, cluster: Record<string, unknown> = {}) =>
      write(
        'kubeconfig',
        stringify({
          apiVersion: 'v1',
          kind: 'Config',
          'current-context': 'here',
          contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'shop' } }],
          clusters: [
            {
              name: 'c',
              cluster: {
                server: `https://127.0.0.1:${server.port}/`,
                'certificate-authority-data': Buffer.from(certificates.authority.certificate).toString('base64'),
                ...cluster,
              },
            },
          ],
          users: [{ name: 'u', user }],
        }),
      );
    const connect = () => kubeconfigConnection(join(directory, 'kubeconfig'));

    it('has the address, namespace, authority and token of its context', async () => {
      await file({ token: 'kube' });
      const connection = await connect();
      use(connection);

      expect(await ask()).to.deep.equal({ fine: true });
      expect(connection).to.include({ server: `https://127.0.0.1:${server.port}`, namespace: 'shop' });
      expect(seenTokens()).to.deep.equal(['Bearer kube']);
    });

    it('FLT-08 follows the token file that it names', async () => {
      await write('token', 'old\n');
      await file({ tokenFile: 'token', token: 'other' });
      use(await connect());
      await write('token', 'second\n');
      expect(await ask()).to.deep.equal({ fine: true });

      expect(seenTokens()).to.deep.equal(['Bearer old', 'Bearer second']);
    });

    it('runs the program that makes its tokens', async () => {
      const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'made' } };
      const exec = {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: process.execPath,
        args: ['-e', `console.log(${JSON.stringify(JSON.stringify(credential))})`],
        interactiveMode: 'Never',
      };
      await file({ exec });
      use(await connect());
      await ask();

      expect(seenTokens()).to.deep.equal(['Bearer made']);
    });

    it('has no header of its own with a client certificate', async () => {
      const { certificate, key } = certificates.serving;
      const encoded = (pem: string) => Buffer.from(pem).toString('base64');
      await file({ 'client-certificate-data': encoded(certificate), 'client-key-data': encoded(key) });
      const connection = await connect();
      use(connection);
      await ask();

      expect(seenTokens()).to.deep.equal([undefined]);
      expect(connection.tls.cert?.toString()).to.equal(certificate);
      expect(connection.tls.key?.toString()).to.equal(key);
    });

    it('is refused without a cluster, or with an unsupported member', async () => {
      await write('kubeconfig', stringify({ apiVersion: 'v1', kind: 'Config', clusters: [], users: [], contexts: [] }));
      expect(await failureOf(connect()))
        .to.be.an('error')
        .with.property('message')
        .that.includes('names no cluster');
      await file({ token: 'x' }, { 'proxy-url': 'http://127.0.0.1:1' });
      expect(await failureOf(connect()))
        .to.be.an('error')
        .with.property('message')
        .that.includes('proxy-url');
    });
  });
});
