import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { type ApiServer, apiServer } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { install } from '../../support/installed-cluster.ts';
import { Container, type ContainerOptions } from './container.ts';
import { Engine } from './engine.ts';
import { addedPaths, buildImage, type ImageConfiguration, revision } from './image.ts';
import { writeServiceAccount } from './service-account.ts';

const billOfMaterials = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ 'bom-ref': z.string(), purl: z.string() })),
});

describe('the image', () => {
  let directory: string;
  let engine: Engine;
  let image: ImageConfiguration;
  let cluster: ApiServer;
  let kubernetes: ClusterAdmin;
  const containers: Container[] = [];

  const start = (options: ContainerOptions) => {
    const container = new Container(engine, options);
    containers.push(container);
    return container;
  };
  /** Returns the options of a start by a kubelet: service account, address of the API server, configuration. */
  const inCluster = (settings: Record<string, string> = {}): ContainerOptions => {
    const { hostname, port } = new URL(cluster.url);
    return {
      environment: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, ATRIUM_SERVER__HOST: '127.0.0.1', ...settings },
      mounts: { '/var/run/secrets/kubernetes.io/serviceaccount': join(directory, 'account') },
    };
  };

  before(async function () {
    // The build runs npm ci, and copies a runtime of 150 MB several times.
    this.timeout(1_200_000);
    directory = await mkdtemp(join(tmpdir(), 'atrium-image-'));
    await chmod(directory, 0o755);
    engine = await Engine.start(directory);
    image = await buildImage(engine, directory);
    cluster = await apiServer();
    kubernetes = await install(cluster);
    await writeServiceAccount(join(directory, 'account'), cluster, await kubernetes.serviceToken());
  });
  after(async () => {
    for (const container of containers) await container.end();
    await kubernetes?.close();
    await cluster?.stop();
    await engine?.stop();
    await rm(directory, { recursive: true });
  });
  /** Returns a file of the image, which has no shell. */
  const fileOf = async (path: string): Promise<string> => {
    const program = 'process.stdout.write(require("node:fs").readFileSync(process.argv[1], "utf8"))';
    const { code, output } = await start({ entrypoint: '/usr/local/bin/node', args: ['-e', program, path] }).finished;
    expect(code, output).to.equal(0);
    return output;
  };

  it('adds only the runtime, a library, the service, its page, licences and a list of components', async () => {
    const paths = await addedPaths(engine);
    const folders = new Set(paths.flatMap((path) => dirname(path)));
    const files = paths.filter((path) => !folders.has(path));

    const known =
      /^\/(app\/(atrium\.js|kubectl-atrium|parts\/[\w-]+\.js|node_modules\/swagger-ui-dist\/[\w.-]+|public\/((assets|downloads)\/)?[\w.-]+|LICENSE|LICENSES\.txt|sbom\.cdx\.json)|usr\/local\/(bin\/node|share\/doc\/node\/LICENSE)|usr\/lib\/libatomic\.so\.1)$/;
    expect(files.filter((path) => !known.test(path))).to.deep.equal([]);
    expect(files).to.include.members(['/app/atrium.js', '/app/public/index.html', '/usr/local/bin/node', '/app/sbom.cdx.json']);
  });

  it('has the user, the ports, the entry point and the labels of the Dockerfile', () => {
    expect(image).to.deep.include({ User: '65532:65532', WorkingDir: '/app', Cmd: ['serve'] });
    expect(image.Entrypoint).to.deep.equal(['/usr/local/bin/node', '--heap-growing-percent=50', '/app/atrium.js']);
    expect(Object.keys(image.ExposedPorts)).to.have.members(['8080/tcp', '9090/tcp']);
    expect(image.Env).to.include.members(['NODE_ENV=production', `ATRIUM_REVISION=${revision}`]);
    expect(image.Labels).to.include({
      'org.opencontainers.image.title': 'Atrium',
      'org.opencontainers.image.version': '1.0.0',
      'org.opencontainers.image.revision': revision,
    });
  });

  it('runs as an unprivileged user, without capabilities, behind a seccomp filter, and cannot write a file', async () => {
    const program = `const { readFileSync, writeFileSync } = require('node:fs');
      const fields = readFileSync('/proc/self/status', 'utf8').matchAll(/^(Uid|Gid|CapEff|CapBnd|NoNewPrivs|Seccomp):\\s*(\\S+)/gm);
      const written = ['/app', '/tmp', '/home/nonroot', '/var'].map((folder) => {
        try { return writeFileSync(folder + '/x', '') ?? 'written'; } catch ({ code }) { return code; }
      });
      console.log(JSON.stringify([Object.fromEntries([...fields].map(([, name, value]) => [name, value])), written]));`;
    const { code, output } = await start({ entrypoint: '/usr/local/bin/node', args: ['-e', program] }).finished;

    expect(code, output).to.equal(0);
    const none = '0000000000000000';
    expect(JSON.parse(output)).to.deep.equal([
      { Uid: '65532', Gid: '65532', CapEff: none, CapBnd: none, NoNewPrivs: '1', Seccomp: '2' },
      ['EROFS', 'EROFS', 'EROFS', 'EROFS'],
    ]);
  });

  it('lists every package that went into the bundle, those of this repository, and the runtime', async () => {
    const { components } = billOfMaterials.parse(JSON.parse(await fileOf('/app/sbom.cdx.json')));
    const listed = components.map((component) => component['bom-ref']);
    const licensed = async (path: string) => (await fileOf(`/app/${path}`)).match(/(?<=^== )\S+/gm) ?? [];
    const bundled = new Set([...(await licensed('LICENSES.txt')), ...(await licensed('public/licences.txt'))]);

    expect(bundled.size).to.be.greaterThan(50);
    const runtime = `node-linux-${process.arch}@${process.version.slice(1)}`;
    const own = ['audit-store', 'http', 'kubernetes', 'lists', 'objects', 'oidc-client'].map((name) => `@atrium/${name}`);
    expect(listed.sort()).to.deep.equal([...bundled, runtime, ...[...own, 'kubectl-atrium'].map((name) => `${name}@1.0.0`)].sort());
  });

  it('serves in a cluster as an unprivileged user on a read-only root, and ends gracefully', async () => {
    const [port, metricsPort] = [await freePort(), await freePort()];
    const settings = { ATRIUM_SERVER__PORT: `${port}`, ATRIUM_SERVER__METRICSPORT: `${metricsPort}`, ATRIUM_SERVER__SHUTDOWNGRACE: '2s' };
    const url = `http://127.0.0.1:${port}`;
    const container = start(inCluster({ ...settings, ATRIUM_SERVER__PUBLICURL: url }));

    const isReady = () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually(isReady, (ready) => ready).catch((error: unknown) => expect.fail(`${error}\n${container.output}`));
    // A user of the namespace of the engine, whose root is user 100000 of the machine.
    expect((await container.status('Uid')).split('\t')).to.deep.equal(Array.from({ length: 4 }, () => '165532'));
    expect((await fetch(`${url}/healthz`)).status).to.equal(200);
    const page = await fetch(`${url}/`);
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8']);
    expect((await fetch(`${url}/identity/.well-known/openid-configuration`)).status).to.equal(200);

    expect((await fetch(`${url}/docs`)).status).to.equal(200);
    // The code for certificates is a chunk that is loaded with the first of them.
    const headers = { authorization: `Bearer ${await cluster.token('admin')}`, 'content-type': 'application/json' };
    const certificate = await fetch(`${url}/auth/v1/authorize`, { method: 'POST', headers, body: '{}' });
    expect(certificate.status, await certificate.text()).to.equal(201);

    await container.signal('SIGTERM');
    expect((await container.finished).code).to.equal(0);
  });

  it('runs the other commands of the command line', async () => {
    const version = await start({ args: ['--version'] }).finished;
    expect(version).to.deep.equal({ code: 0, output: '1.0.0\n' });

    const options = inCluster({ ATRIUM_SERVER__PUBLICURL: 'https://console.example.com' });
    const checked = await start({ ...options, args: ['config', 'check'] }).finished;
    expect(checked).to.deep.equal({ code: 0, output: 'the configuration is valid\n' });

    const created = await start({ ...options, args: ['create-admin', '--email', 'admin@example.com'] }).finished;
    expect(created, created.output).to.include({ code: 0 });
    expect((await kubernetes.call('GET', `/api/v1/namespaces/${serviceNamespace}/secrets/atrium-first-admin`)).status).to.equal(200);
  });

  it('reads a kubeconfig by a chunk that is loaded on demand', async () => {
    const token = await kubernetes.serviceToken();
    const authority = Buffer.from(cluster.certificateAuthority).toString('base64');
    const named = { name: 'x', context: { cluster: 'x', user: 'x' } };
    const kubeconfig = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x', contexts: [named], users: [{ name: 'x', user: { token } }] },
      clusters: [{ name: 'x', cluster: { server: cluster.url, 'certificate-authority-data': authority } }],
    };
    await writeFile(join(directory, 'kubeconfig'), JSON.stringify(kubeconfig));

    const { code, output } = await start({
      args: ['create-admin', '--email', 'admin@example.com'],
      environment: {
        ATRIUM_KUBERNETES__KUBECONFIG: '/etc/atrium/kubeconfig',
        ATRIUM_KUBERNETES__NAMESPACE: serviceNamespace,
        ATRIUM_SERVER__PUBLICURL: 'https://console.example.com',
      },
      mounts: { '/etc/atrium': directory },
    }).finished;

    expect({ code, output }).to.deep.equal({
      code: 0,
      output: 'the administrator admin@example.com exists already; nothing was changed\n',
    });
  });
});
