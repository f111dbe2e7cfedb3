import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { forSuite } from '../../support/for-suite.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { aMachine, audience, branch, startExchange, workloadToken } from '../token-exchange/workloads.ts';
import { whoIs } from '../tokens/tokens.ts';
import { credentialOf, Machine } from './machine.ts';

describe('kubectl-atrium with the token of a workload', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const server = forSuite(() =>
    startExchange(provider, [aMachine('shop', [{ issuer: provider.issuer, audience, claims: { sub: branch }, once: true }])]),
  );
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  let file: string;

  before(async () => {
    await mkdir(join(machine.home, 'run'));
    file = join(machine.home, 'run', 'token');
  });

  const put = (jti: string) => writeFile(file, `${workloadToken(provider, { claims: { jti } })}\n`);
  const options = () => ['--console', server.url, '--workload-token', file, '--machine-user', 'shop'];
  const run = (command: string) => machine.run([command, ...options()]);

  it('prints a token of the machine user, and uses it until it ends', async () => {
    await put('run-1');
    const first = credentialOf(await run('token'));
    expect(await whoIs(server, first.token)).to.deep.equal({ name: 'machine:shop', groups: [] });
    expect(Date.parse(first.expirationTimestamp) - Date.now()).to.be.within(1, 900_000);
    // The token of the workload is accepted once, so that a second exchange would fail.
    expect(credentialOf(await run('token'))).to.deep.equal(first);
  });

  it('reads the file again for each exchange', async () => {
    await put('run-2');
    const again = await run('login');
    expect([again.code, again.stderr]).to.deep.equal([0, 'The console has accepted the token of the workload.\n']);
    const used = await run('login');
    expect([used.code, used.stdout]).to.deep.equal([1, '']);
    expect(used.stderr).to.include('is not a token that this machine user trusts').and.not.include('eyJ');
    await put('run-3');
    expect((await run('login')).code).to.equal(0);
  });

  it('says what is wrong with the file or the address', async () => {
    const { code, stderr } = await machine.run(['token', '--console', server.url, '--workload-token', `${file}.missing`]);
    expect([code, stderr]).to.deep.equal([1, '--workload-token: the file cannot be read (ENOENT)\n']);
    const nameless = await machine.run(['token', '--workload-token', file]);
    expect([nameless.code, nameless.stderr]).to.deep.equal([1, 'name the address of the console by --console\n']);
  });
});
