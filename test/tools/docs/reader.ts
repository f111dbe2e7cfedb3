/** A reader of the documentation with a machine: a home, a checkout, a terminal for the demo, and a cluster if needed. */
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { helmProgram } from '../../cluster/build.ts';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts';
import { DemoTerminal, startsDemo } from './demo.ts';
import type { Commands, Page } from './page.ts';
import { differences, runCommands, type Shell, type ShellContext } from './shell.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export class Reader {
  readonly #shell: Shell;
  readonly #home: string;
  readonly #path: string | undefined;
  readonly #demo: DemoTerminal;
  #cluster: ControlPlane | undefined;

  /** @param path programs that the reader has, by default those of this process */
  static async start(shell: Shell, path = process.env.PATH): Promise<Reader> {
    const home = await mkdtemp(join(tmpdir(), 'atrium-reader-'));
    const context = { directory: await checkout(join(home, 'demo')), environment: environmentOf(home, path) };
    return new Reader(shell, home, path, new DemoTerminal(context));
  }

  private constructor(shell: Shell, home: string, path: string | undefined, demo: DemoTerminal) {
    this.#shell = shell;
    this.#home = home;
    this.#path = path;
    this.#demo = demo;
  }

  /** Follows a page. @returns differences from its output, by line; @throws Error at the first command that fails */
  async follow(page: Page, signal: AbortSignal): Promise<string[]> {
    const name = page.path.replaceAll(/\W/g, '-');
    const onDemo = page.commands.filter(isOn('demo', 'own demo'));
    const onCluster = page.commands.filter(isOn('cluster'));
    const isApart = onDemo.some(isOn('own demo'));
    if (isApart) await this.#demo.stop();
    const problems: string[] = [];
    if (onDemo.length > 0) {
      const blocks: Commands[] = [];
      for (const commands of onDemo) {
        if (startsDemo(commands.text)) await this.#demo.ensure(commands.text.trim());
        else blocks.push({ ...commands, text: this.#demo.here(commands.text), shown: commands.shown.map((line) => this.#demo.here(line)) });
      }
      problems.push(...(await this.#run(blocks, await this.#context(name, this.#home), signal)));
    }
    if (isApart) await this.#demo.stop();
    if (onCluster.length > 0) problems.push(...(await this.#run(onCluster, await this.#atCluster(name), signal)));
    return problems.map((problem) => `${page.path}:${problem}`);
  }

  async stop(): Promise<void> {
    await this.#demo.stop();
    await this.#cluster?.stop();
    // Background processes of a page may write a moment longer.
    await rm(this.#home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  }

  async #run(blocks: readonly Commands[], context: ShellContext, signal: AbortSignal): Promise<string[]> {
    const ran = await runCommands(this.#shell, blocks, context, signal);
    return ran.flatMap((one) => differences(one).map((problem) => `${one.commands.line}: ${problem}`));
  }

  #context = async (name: string, home: string, path = this.#path): Promise<ShellContext> => ({
    directory: await checkout(join(this.#home, name)),
    environment: environmentOf(home, path),
  });

  /** Prepares a home with the cluster's administrator in ~/.kube/config, and Helm. */
  async #atCluster(name: string): Promise<ShellContext> {
    const home = join(this.#home, 'administrator');
    if (this.#cluster === undefined) {
      this.#cluster = await startControlPlane({ people: ['admin'] });
      await mkdir(join(home, '.kube'), { recursive: true });
      await cp(this.#cluster.kubeconfig, join(home, '.kube/config'));
    }
    return this.#context(`${name}-cluster`, home, `${dirname(await helmProgram())}:${this.#path}`);
  }
}

const isOn =
  (...places: readonly string[]) =>
  ({ place }: Commands) =>
    place !== undefined && 'on' in place && places.includes(place.on);

const environmentOf = (home: string, path = process.env.PATH): Record<string, string> => ({
  PATH: path ?? '',
  HOME: home,
  // Temporary files of the page are deleted with the home.
  TMPDIR: home,
  LANG: 'C.UTF-8',
  // npm installs the packages of a plugin from the registry of this machine, with the authority that it trusts and the packages it has.
  npm_config_userconfig: join(homedir(), '.npmrc'),
  npm_config_cache: join(homedir(), '.npm'),
  NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS ?? '',
});

/** Creates a folder with the files of a checkout, which the page may write to. */
async function checkout(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  for (const entry of await readdir(root)) await symlink(join(root, entry), join(directory, entry));
  return directory;
}
