import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { credentialOf, Machine } from '../../../service/kubectl-atrium/machine.ts';
import { TestProvider } from '../../../service/login/provider/provider.ts';
import { forSuite } from '../../../support/for-suite.ts';

const script = fileURLToPath(new URL('../../../../scripts/write-executable.ts', import.meta.url));

describe('kubectl-atrium with its Node.js in one file', () => {
  const output = forSuite(
    async () => ({ directory: await mkdtemp(join(tmpdir(), 'atrium-executable-')) }),
    ({ directory }) => rm(directory, { recursive: true }),
  );
  const provider = forSuite(() => TestProvider.start({ clientID: 'kubectl' }));
  const machine = forSuite(
    () => Machine.create(),
    (it) => it.remove(),
  );
  let program: string;
  before(async () => {
    await promisify(execFile)(process.execPath, [script, '--outdir', output.directory]);
    program = join(output.directory, `kubectl-atrium-${process.platform}-${process.arch}`);
    // Without a Node.js in PATH.
    machine.environment.PATH = '/nowhere';
  });

  it('logs in and prints tokens where there is no Node.js', async () => {
    const options = ['--issuer', provider.issuer];
    expect(await machine.spawn([program, 'login', ...options]).finished).to.deep.include({ code: 0 });
    expect(credentialOf(await machine.spawn([program, 'token', ...options]).finished).token).to.match(/^ey/);
  });

  for (const [platform, start] of [
    ['darwin-arm64', 'cffaedfe'],
    ['win32-x64', '4d5a'],
  ] as const)
    it(`is built for ${platform} too, with the Node.js of that system`, async () => {
      await promisify(execFile)(process.execPath, [script, '--platform', platform, '--outdir', output.directory]);
      const built = join(output.directory, `kubectl-atrium-${platform}${platform.startsWith('win32') ? '.exe' : ''}`);
      const bytes = await readFile(built);
      expect(bytes.subarray(0, start.length / 2).toString('hex')).to.equal(start);
      // Node.js runs the added program if the fuse is set.
      expect(bytes.includes('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1')).to.equal(true);
      expect(bytes.includes('you are not logged in, and there is no terminal to ask in')).to.equal(true);
      const { stdout } = await promisify(execFile)('sha256sum', ['--check', `${built}.sha256`], { cwd: output.directory });
      expect(stdout).to.match(/: OK\n$/);
    });

  it('completes commands by the link that kubectl calls', async () => {
    const link = join(output.directory, 'kubectl_complete-atrium');
    await symlink(program, link);
    const { stdout } = await machine.spawn([link, 'login', '--ca']).finished;
    expect(stdout.split('\n').map((line) => line.split('\t')[0])).to.deep.equal(['--ca-file', '--ca-data', ':4', '']);
  });
});
