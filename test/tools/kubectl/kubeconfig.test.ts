/** The setup of a new user: kubectl, the kubeconfig of the service, and the plugin. */

import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { buildPlugin } from '../../service/cli/bundle.ts';
import { Machine } from '../../service/kubectl-atrium/machine.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { Ran } from '../../support/kubectl.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const itself = `user.auth.platform.io/${nameOf(jane.email)}\n`;
/** Remaining seconds of a token that is due: tokens are renewed less than ten seconds before expiry. */
const toBeRenewed = 5;

/** A terminal with kubectl, the plugin and a browser. */
class Desk {
  readonly machine: Machine;

  private constructor(machine: Machine) {
    this.machine = machine;
  }

  static async create(service: EmbeddedLogin, plugin: string): Promise<Desk> {
    const person = { PLAY_EMAIL: jane.email, PLAY_PASSWORD: jane.password, PLAY_CA: service.caFile };
    const machine = await Machine.create({ ...person, NODE_EXTRA_CA_CERTS: '' });
    await mkdir(join(machine.home, 'bin'));
    for (const name of ['kubectl-atrium', 'kubectl_complete-atrium']) await symlink(plugin, join(machine.home, 'bin', name));
    machine.environment.PATH = `${join(machine.home, 'bin')}:${machine.environment.PATH}`;
    machine.environment.KUBECONFIG = join(machine.home, 'kubeconfig.yaml');
    return new Desk(machine);
  }

  /** Runs kubectl without a terminal, so that no user can be asked. */
  kubectl(...args: string[]): Promise<Ran> {
    return this.#run('kubectl', args);
  }

  /** Runs kubectl in a terminal, which shows both outputs as one. */
  kubectlInTerminal(...args: string[]): Promise<Ran> {
    return this.#run('script', ['--quiet', '--return', '--command', ['kubectl', ...args].join(' '), '/dev/null']);
  }

  /** Replaces the stored token by one with less time left. Its signature becomes invalid, which only the API server checks. */
  async age(secondsLeft: number): Promise<void> {
    const [path = ''] = (await this.machine.kept()).filter((name) => name.endsWith('.json'));
    const entry: { tokens: { idToken: string } } = JSON.parse(await readFile(path, 'utf8'));
    const [head, claims = '', signature] = entry.tokens.idToken.split('.');
    const aged = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), exp: Math.floor(Date.now() / 1000) + secondsLeft };
    entry.tokens.idToken = [head, Buffer.from(JSON.stringify(aged)).toString('base64url'), signature].join('.');
    await writeFile(path, JSON.stringify(entry));
  }

  async whoami(): Promise<{ username: string; groups: string[] }> {
    const { stdout, stderr } = await this.kubectl('auth', 'whoami', '--output=json');
    expect(stderr).to.equal('');
    return JSON.parse(stdout).status.userInfo;
  }

  #run(command: string, args: readonly string[]): Promise<Ran> {
    return new Promise((resolve, reject) => {
      const child = execFile(command, args, { env: this.machine.environment, timeout: 60_000 }, (error, stdout, stderr) => {
        if (error?.code === 'ENOENT') reject(new Error(`${command} is not in PATH`));
        else resolve({ isDone: error === null, stdout: stdout.replaceAll('\r\n', '\n'), stderr });
      });
      child.stdin?.end();
    });
  }
}

describe('kubectl with a kubeconfig of the service', () => {
  const plugin = forSuite(
    () => buildPlugin(),
    (it) => it.remove(),
  );
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password }));
  let desk: Desk;

  before(async () => {
    await service.admin.apply(...['atrium-users-view', 'atrium-certificates'].map(boundToDevelopers));
    desk = await Desk.create(service, plugin.path);
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
    const without = await Desk.create(service, '/nowhere');
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
