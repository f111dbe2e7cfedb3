import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { apiServer } from '../../support/api-server.ts';
import { ClusterAdmin, eventually } from '../../support/cluster-admin.ts';
import { Command, run } from '../../support/command.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';

describe('atrium serve, the process', () => {
  let directory: string;
  let services: Command[];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    services = [];
  });
  after(async () => {
    for (const service of services) await service.end();
    await rm(directory, { recursive: true });
  });

  const kubeconfigFor = async (cluster: Record<string, unknown>, user: Record<string, unknown> = {}) => {
    const path = join(directory, 'kubeconfig.yaml');
    const content = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      'current-context': 'test',
    };
    await writeFile(path, stringify(content), { mode: 0o600 });
    return path;
  };

  /** Starts the service with its address alone, and settings that keep it off the ports of other programs. */
  async function start(kubeconfig: string, environment: Record<string, string> = {}, args: string[] = []) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const service = new Command(args, {
      KUBECONFIG: kubeconfig,
      ATRIUM_SERVER__PUBLICURL: url,
      ATRIUM_SERVER__PORT: String(port),
      ATRIUM_SERVER__METRICSPORT: '0',
      ATRIUM_SERVER__HOST: '127.0.0.1',
      ...environment,
    });
    services.push(service);
    await eventually(
      () => service.process.exitCode !== null || service.stdout.includes('"listening"'),
      (isReady) => isReady,
    );
    expect(service.process.exitCode, service.stderr).to.equal(null);
    return { service, url };
  }

  /** The port closes a moment after the first answer that reports the stop: a slow machine sees only the closed port. */
  const isStopping = (url: string) =>
    eventually(
      () =>
        fetch(`${url}/readyz`).then(
          async (answer) => [answer.status, await answer.text()].join(' '),
          () => 'refused',
        ),
      (answer) => answer === 'refused' || /stopping/i.test(answer),
    );

  it('knows its commands, and serves when none is named', async () => {
    for (const args of [['bogus'], ['bogus', '--config', 'x']]) {
      const { code, stdout, stderr } = await run(args);
      expect({ code, stdout, line: stderr.split('\n')[0] }).to.deep.equal({ code: 1, stdout: '', line: "error: unknown command 'bogus'" });
    }
    expect((await run(['serv'])).stderr).to.equal("error: unknown command 'serv'\n(Did you mean serve?)\n");
    expect(await run(['--config', join(directory, 'absent.yaml')])).to.include({ code: 2 });
    expect((await run(['--version'])).stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });

  describe('beside a cluster', () => {
    const cluster = forSuite(() => apiServer());
    let kubernetes: ClusterAdmin;
    let kubeconfig: string;
    before(async () => {
      const token = await cluster.token('admin');
      kubernetes = new ClusterAdmin(cluster, token);
      await kubernetes.install();
      const authority = Buffer.from(cluster.certificateAuthority).toString('base64');
      kubeconfig = await kubeconfigFor({ server: cluster.url, 'certificate-authority-data': authority }, { token });
    });
    after(async () => {
      await kubernetes?.close();
    });

    it('comes up with no more than server.publicURL: its own page, login and all', async () => {
      const { service, url } = await start(kubeconfig);
      const ready = await eventually(
        () => fetch(`${url}/readyz`),
        ({ status }) => status === 200,
      );
      const page = await fetch(`${url}/`, { headers: { accept: 'text/html' } });
      const modules = await fetch(`${url}/api/v1/modules`);
      const login = await fetch(`${url}/api/v2/token/login`);

      expect([ready.status, page.status, page.headers.get('content-type')]).to.deep.equal([200, 200, 'text/html; charset=utf-8']);
      expect(await modules.json()).to.include({ assetsHostPath: 'public', apiAddress: url });
      expect(await login.json())
        .to.have.property('auth_url')
        .that.contains(`${url}/identity/`);
      expect(service.stderr).to.equal('');
      service.signal('SIGHUP');
      expect((await service.finished).code).to.equal(0);
    });
  });

  describe('while it stops', () => {
    let silent: Server;
    let asked: Promise<ServerResponse>;
    let kubeconfig: string;
    beforeEach(async () => {
      silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      asked = new Promise((resolve) => {
        silent.on('request', ({ url }, answer) => url?.endsWith('/secrets/atrium-keys') && resolve(answer));
      });
      kubeconfig = await kubeconfigFor({
        server: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
        'insecure-skip-tls-verify': true,
      });
    });
    afterEach(async () => {
      silent.closeAllConnections();
      silent.close();
      await once(silent, 'close');
    });

    const forever = { ATRIUM_KUBERNETES__REQUESTTIMEOUT: '1h', ATRIUM_SERVER__REQUESTTIMEOUT: '1h', ATRIUM_SERVER__SHUTDOWNGRACE: '1h' };

    it('ends at once on SIGINT, though a request is not answered yet', async () => {
      const { service, url } = await start(kubeconfig, forever);
      const request = fetch(`${url}/api/v2/token/login`).catch(() => 'cut');
      await asked;
      service.signal('SIGTERM');
      await isStopping(url);
      service.signal('SIGINT');

      expect((await service.finished).code).to.equal(1);
      expect(await request).to.equal('cut');
    });

    it('lets a request in flight end, though SIGTERM comes again', async () => {
      const { service, url } = await start(kubeconfig, forever);
      const request = fetch(`${url}/api/v2/token/login`);
      const answer = await asked;
      service.signal('SIGTERM');
      await isStopping(url);
      service.signal('SIGTERM');
      service.signal('SIGHUP');
      answer.writeHead(403, { 'content-type': 'application/json' }).end('{"kind":"Status","code":403,"reason":"Forbidden"}');

      expect((await request).status).to.equal(503);
      expect((await service.finished).code).to.equal(0);
    });
  });
});
