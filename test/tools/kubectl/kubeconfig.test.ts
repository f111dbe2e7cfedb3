/** The setup of a new user: kubectl, the kubeconfig of the service, and the plugin. */

import { expect } from 'chai';
import { buildPlugin } from '../../service/cli/bundle.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Desk } from './desk.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const itself = `user.auth.platform.io/${nameOf(jane.email)}\n`;
/** Remaining seconds of a token that is due: tokens are renewed less than ten seconds before expiry. */
const toBeRenewed = 5;

describe('kubectl with a kubeconfig of the service', () => {
  const plugin = forSuite(
    () => buildPlugin(),
    (it) => it.remove(),
  );
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password }));
  let desk: Desk;

  before(async () => {
    await service.admin.apply(...['atrium-users-view', 'atrium-certificates'].map(boundToDevelopers));
    desk = await Desk.create(service, jane, plugin.path);
  });
  after(async () => {
    await desk?.machine.remove();
  });

  /** Downloads the kubeconfig as the page of the console does. */
  const download = async (): Promise<string> => {
    const { browser } = await service.logIn(jane.email, jane.password);
    const { response, body } = await browser.get(`${service.url}/auth/v1/kubeconfig?namespace=shop`);
    expect(response.status, body).to.equal(200);
    return body;
  };
  const bearer = async (): Promise<string> =>
    JSON.parse((await service.logIn(jane.email, jane.password, '?token_storage=local')).body).ext.token.id_token;
  const tokenRequests = () => service.lines.filter((line) => line.includes('"/identity/token"')).length;

  it('logs its user in, stores the tokens, renews them once and deletes them', async () => {
    await desk.machine.file('kubeconfig.yaml', await download());

    const unasked = await desk.kubectl('get', 'users');
    expect(unasked.isDone).to.equal(false);
    expect(unasked.stderr).to.contain('you are not logged in, and there is no terminal to ask in: run kubectl atrium login first');

    const first = await desk.kubectlInTerminal('get', 'users', '--output=name');
    expect(first.stdout).to.match(/^Log in with the browser\. If it does not open: http:\S+\n/);
    expect(first.stdout.endsWith(itself), first.stdout).to.equal(true);
    expect(await desk.whoami()).to.deep.include({ username: jane.email, groups: ['dev', 'system:authenticated'] });
    expect((await desk.kubectl('config', 'view', '--minify', '--output=jsonpath={..namespace}')).stdout).to.equal('shop');
    const asked = tokenRequests();
    expect(await desk.kubectl('get', 'users', '--output=name')).to.deep.equal({ isDone: true, stdout: itself, stderr: '' });
    expect(tokenRequests()).to.equal(asked);

    await desk.age(toBeRenewed);
    const many = await Promise.all(Array.from({ length: 10 }, () => desk.kubectl('get', 'users', '--output=name')));
    for (const ran of many) expect(ran).to.deep.equal({ isDone: true, stdout: itself, stderr: '' });
    expect(tokenRequests() - asked).to.be.within(1, 2);

    expect(await desk.kubectl('atrium', 'logout')).to.deep.include({ isDone: true, stderr: 'Logged out.\n' });
    expect(await desk.machine.kept()).to.deep.equal([]);
    expect((await desk.kubectl('get', 'users')).isDone).to.equal(false);
    const again = await desk.kubectl('atrium', 'login');
    expect(again.stderr).to.match(/\nLogged in as jane@example\.com\.\n$/);
    expect((await desk.kubectl('get', 'users', '--output=name')).stdout).to.equal(itself);
  });

  it('accepts the kubeconfig with a token', async () => {
    const answer = await service.request('/auth/v1/kubeconfig?mode=token', { headers: { authorization: `Bearer ${await bearer()}` } });
    await desk.machine.file('kubeconfig.yaml', await answer.text());

    expect((await desk.whoami()).username).to.equal(jane.email);
  });

  it('accepts the kubeconfig with a certificate', async () => {
    const answer = await service.request('/auth/v1/authorize', {
      method: 'POST',
      headers: { authorization: `Bearer ${await bearer()}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(answer.status).to.equal(201);
    await desk.machine.file('kubeconfig.yaml', ((await answer.json()) as { status: { kubeconfig: string } }).status.kubeconfig);

    expect((await desk.whoami()).username).to.equal(jane.email);
  });

  it('reports a missing plugin', async () => {
    const without = await Desk.create(service, jane, '/nowhere');
    await without.machine.file('kubeconfig.yaml', await download());

    expect((await without.kubectl('get', 'users')).stderr).to.contain('kubectl-atrium is not in PATH. It is one file');
    await without.machine.remove();
  });

  it('completes commands of the plugin like its own', async () => {
    const { stdout } = await desk.kubectl('__complete', 'atrium', 'login', '--ca');

    expect(stdout.split('\n').map((line) => line.split('\t')[0])).to.deep.equal(['--ca-file', '--ca-data', ':4', '']);
  });
});

const boundToDevelopers = (role: string) => clusterRoleBinding(`dev-${role}`, role, { kind: 'Group', name: 'dev' });
