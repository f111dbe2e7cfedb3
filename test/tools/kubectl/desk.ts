import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Machine } from '../../service/kubectl-atrium/machine.ts';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import type { Ran } from '../../support/kubectl.ts';

/** A terminal with kubectl, the plugin and a browser. */
export class Desk {
  readonly machine: Machine;

  private constructor(machine: Machine) {
    this.machine = machine;
  }

  /** @param plugin path of the built program */
  static async create(service: Pick<EmbeddedLogin, 'caFile'>, user: { email: string; password: string }, plugin: string): Promise<Desk> {
    const person = { PLAY_EMAIL: user.email, PLAY_PASSWORD: user.password, PLAY_CA: service.caFile };
    const machine = await Machine.create({ ...person, NODE_EXTRA_CA_CERTS: '' });
    await mkdir(join(machine.home, 'bin'));
    for (const name of ['kubectl-atrium', 'kubectl_complete-atrium']) await symlink(plugin, join(machine.home, 'bin', name));
    machine.environment.PATH = `${join(machine.home, 'bin')}:${machine.environment.PATH}`;
    machine.environment.KUBECONFIG = join(machine.home, 'kubeconfig.yaml');
    return new Desk(machine);
  }

  /** Runs kubectl without a terminal, so that no user can be asked. */
  kubectl(...args: string[]): Promise<Ran> {
    return this.run('kubectl', args);
  }

  /** Runs kubectl with a manifest as its input. @throws Error if it fails */
  async kubectlWith(manifest: string, ...args: string[]): Promise<string> {
    return outputOf(await this.run('kubectl', [...args, '--filename=-'], manifest));
  }

  /** Runs kubectl in a terminal, which shows both outputs as one. */
  kubectlInTerminal(...args: string[]): Promise<Ran> {
    return this.run('script', ['--quiet', '--return', '--command', ['kubectl', ...args].join(' '), '/dev/null']);
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

  /** Runs a program with this machine's environment. */
  run(command: string, args: readonly string[], input = ''): Promise<Ran> {
    return new Promise((resolve, reject) => {
      const child = execFile(command, args, { env: this.machine.environment, timeout: 60_000 }, (error, stdout, stderr) => {
        if (error?.code === 'ENOENT') reject(new Error(`${command} is not in PATH`));
        else resolve({ isDone: error === null, stdout: stdout.replaceAll('\r\n', '\n'), stderr });
      });
      child.stdin?.end(input);
    });
  }
}

/** Returns the standard output of a program. @throws Error if it failed */
export function outputOf({ isDone, stdout, stderr }: Ran): string {
  if (!isDone) throw new Error(stderr);
  return stdout;
}
