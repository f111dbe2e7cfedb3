import { execFile } from 'node:child_process';
import { copyFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { TestProvider } from '../login/provider/provider.ts';
import { buildPlugin } from './bundle.ts';
import { credentialOf, Machine } from './machine.ts';

const run = promisify(execFile);

describe('kubectl-atrium as one file', () => {
  let plugin: Awaited<ReturnType<typeof buildPlugin>>;
  let provider: TestProvider;
  let machine: Machine;
  let program: string;
  before(async () => {
    plugin = await buildPlugin();
    provider = await TestProvider.start({ clientID: 'kubectl' });
    machine = await Machine.create();
    program = join(machine.home, 'kubectl-atrium');
    await copyFile(plugin.path, program);
  });
  after(async () => {
    await provider?.stop();
    await machine?.remove();
    await plugin?.remove();
  });

  it('can be run, and needs nothing but Node.js', async () => {
    expect((await stat(plugin.path)).mode & 0o111).to.equal(0o111);
    const text = await readFile(program, 'utf8');
    expect(text).to.match(/^#!\/usr\/bin\/env node\n/);
    expect(text.length).to.be.lessThan(1024 * 1024);
    const { stdout, stderr } = await run(program, ['--help'], { cwd: machine.home, env: { PATH: machine.environment.PATH } });

    expect(stderr).to.equal('');
    expect([...stdout.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name)).to.deep.equal(['login', 'token', 'logout', 'completion', 'help']);
  });

  it('logs in, prints tokens and logs out', async () => {
    const options = ['--issuer', provider.issuer];
    const first = await machine.spawn([program, 'login', ...options]).finished;
    expect(first.code, first.stderr).to.equal(0);
    provider.forgetRequests();
    const second = await machine.spawn([program, 'token', ...options]).finished;
    expect(credentialOf(second).token).to.match(/^ey/);
    expect(provider.requests).to.deep.equal([]);

    expect(await machine.spawn([program, 'logout', ...options]).finished).to.include({ code: 0, stderr: 'Logged out.\n' });
    expect(provider.hits('revocation')).to.equal(1);
    expect((await machine.spawn([program, 'token', ...options]).finished).code).to.equal(1);
  });
});
