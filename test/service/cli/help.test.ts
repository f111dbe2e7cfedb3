import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';
import { run } from '../../support/command.ts';

const packageRoot = new URL('../../../', import.meta.url);
const execute = promisify(execFile);
const npm = (...args: string[]) => execute('npm', ['run', '--silent', ...args], { cwd: packageRoot, env: process.env });

/** Commands of the documentation for users and administrators, with the begin of their help. */
const commands = {
  demo: 'Usage: atrium sandbox',
  start: 'Usage: atrium serve',
  atrium: 'Usage: atrium ',
  web: 'Builds the console',
  build: 'Builds the service as one program',
  krew: 'Packs `kubectl-atrium` for krew',
  executable: 'Packs `kubectl-atrium` with its Node.js',
  site: 'Builds the documentation as a site',
  docs: 'Writes the generated parts of the documentation',
  chart: 'Writes the generated files of the chart',
  manifests: 'Writes deploy/manifests',
};

describe('the help of the commands', () => {
  it('runs no other script of package.json before', async () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile(new URL('package.json', packageRoot), 'utf8')));

    expect(Object.keys(scripts)).to.include.members(Object.keys(commands));
    for (const name of Object.keys(commands)) {
      expect(scripts).not.to.have.property(`pre${name}`);
      expect(scripts[name], name).to.match(/^(exec )?node [\w/.-]+(?: [\w-]+)*$/);
    }
  });

  for (const [name, begin] of Object.entries(commands))
    it(`is printed by npm run ${name} -- --help, and nothing else`, async () => {
      const { stdout, stderr } = await npm(name, '--', '--help');

      expect(stdout.startsWith(begin), stdout).to.equal(true);
      expect(stderr).to.equal('');
    });

  it('is printed for every command of atrium', async () => {
    const { stdout } = await run(['--help']);
    const names = [...stdout.matchAll(/^ {2}([a-z-]+)(?: |$)/gm)].flatMap(([, name = '']) => (name === 'help' ? [] : [name]));

    expect(names).to.include.members(['serve', 'sandbox', 'config', 'openapi']);
    for (const name of names) {
      const { code, stdout: help, stderr } = await run([name, '--help']);
      expect([code, help.split(' ').slice(0, 3).join(' '), stderr]).to.deep.equal([0, `Usage: atrium ${name}`, '']);
    }
  });

  it('has the version beside it', async () => {
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(new URL('package.json', packageRoot), 'utf8')));
    const plugin = new URL('packages/kubectl-atrium/src/kubectl-atrium.js', packageRoot);
    const printed = await Promise.all([
      npm('atrium', '--', '--version').then(({ stdout }) => stdout),
      npm('demo', '--', '--version').then(({ stdout }) => stdout),
      npm('start', '--', '--version').then(({ stdout }) => stdout),
      execute(process.execPath, [plugin.pathname, '--version']).then(({ stdout }) => stdout),
    ]);

    expect(printed).to.deep.equal([`${version}\n`, `${version}\n`, `${version}\n`, `${version}\n`]);
  });

  it('comes from kubectl atrium without a login', async () => {
    const plugin = new URL('packages/kubectl-atrium/src/kubectl-atrium.js', packageRoot);
    const { stdout, stderr } = await execute(process.execPath, [plugin.pathname, '--help']);

    expect(stdout).to.match(/^Usage: kubectl-atrium /);
    expect(stderr).to.equal('');
  });
});
