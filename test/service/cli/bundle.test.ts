import { execFile } from 'node:child_process';
import { copyFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { firstHash, hashOf } from '@atrium/audit-store/chain.ts';
import { signedCheckpoint } from '@atrium/audit-store/signed-checkpoints.ts';
import { expect } from 'chai';
import { transform } from 'esbuild';
import { exportJWK, generateKeyPair } from 'jose';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { credentialOf, Machine } from '../kubectl-atrium/machine.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { buildPlugin } from './bundle.ts';

const run = promisify(execFile);

describe('each program as it is built', () => {
  const plugin = forSuite(
    () => buildPlugin(),
    (it) => it.remove(),
  );
  const provider = forSuite(() => TestProvider.start({ clientID: 'kubectl' }));
  const machine = forSuite(
    () => Machine.create(),
    (it) => it.remove(),
  );
  let program: string;
  before(async () => {
    program = join(machine.home, 'kubectl-atrium');
    await copyFile(plugin.path, program);
  });

  it('is one file for kubectl, can be run, and needs nothing but Node.js', async () => {
    expect((await stat(plugin.path)).mode & 0o111).to.equal(0o111);
    const text = await readFile(program, 'utf8');
    expect(text).to.match(/^#!\/usr\/bin\/env node\n/);
    expect(text.length).to.be.lessThan(1024 * 1024);
    const { stdout, stderr } = await run(program, ['--help'], { cwd: machine.home, env: { PATH: machine.environment.PATH } });

    expect(stderr).to.equal('');
    expect([...stdout.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name)).to.deep.equal([
      'login',
      'token',
      'logout',
      'users',
      'access',
      'reviews',
      'audit',
      'completion',
      'help',
    ]);
  });

  it('runs where files are modules, too', async () => {
    await machine.file('package.json', '{ "type": "module" }');

    expect((await run(program, ['--version'], { env: { PATH: machine.environment.PATH } })).stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });

  it('says in one line that Node.js is too old, built or not', async () => {
    const source = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
    const preload = fileURLToPath(new URL('old-node.cjs', import.meta.url));
    const service = {
      files: [source('src/atrium.js'), plugin.service],
      least: '24.11',
      refused: ['20.20.2', '24.10.9'],
      runs: ['24.11.0', '26.0.0'],
    };
    const own = {
      files: [source('packages/kubectl-atrium/src/kubectl-atrium.js'), program],
      least: '20.18',
      refused: ['18.20.8', '20.17.0'],
      runs: ['20.18.0', '26.0.0'],
    };
    const run = (file: string, version: string) =>
      machine.spawn([process.execPath, '--require', preload, file, '--version'], { OLD_NODE: version }).finished;
    for (const { files, least, refused, runs } of [service, own])
      for (const file of files) {
        for (const version of runs) expect((await run(file, version)).code, `${file} on ${version}`).to.equal(0);
        for (const version of refused)
          expect(await run(file, version)).to.deep.equal({
            code: 1,
            stdout: '',
            stderr: `Node.js ${least} or later is needed; this is ${version} (${process.execPath})\n`,
          });
      }
  });

  it('begins with syntax of an old Node.js', async () => {
    for (const file of [program, plugin.service]) {
      const text = await readFile(file, 'utf8');
      // With an import or export, an old Node.js would refuse the file before the message.
      expect(text).not.to.match(/^\s*(import|export)\b/m);
      // A file that both targets leave equal contains no newer syntax.
      const { code: old } = await transform(text, { target: 'node14' });
      const { code: newest } = await transform(text, { target: 'esnext' });
      expect(old === newest, file).to.equal(true);
    }
  });

  it('writes its log for people, too', async () => {
    const cluster = { server: 'http://127.0.0.1:9', 'insecure-skip-tls-verify': true };
    const kubeconfig = { clusters: [{ name: 'a', cluster }], contexts: [{ name: 'a', context: { cluster: 'a' } }], 'current-context': 'a' };
    const service = machine.spawn([process.execPath, plugin.service], {
      KUBECONFIG: await machine.file('kubeconfig', JSON.stringify(kubeconfig)),
      ATRIUM_LOG__FORMAT: 'pretty',
      ATRIUM_SERVER__HOST: '127.0.0.1',
      ATRIUM_SERVER__PORT: '0',
      ATRIUM_SERVER__METRICSPORT: '0',
      ATRIUM_SERVER__PUBLICURL: 'http://127.0.0.1',
    });
    let isOver = false;
    const end = service.finished.finally(() => {
      isOver = true;
    });
    // The service also logs that it cannot reach the cluster, before or after.
    await eventually(
      () => service.output.stdout,
      (text) => isOver || text.includes('listening'),
    );
    service.signal('SIGINT');

    expect(await end).to.include({ code: 0, stderr: '' });
    expect(service.output.stdout)
      .to.match(/^\[.*\] .*INFO.*: .*listening.*"port":\d+/m)
      .and.not.to.match(/^\{/m);
  });

  it('verifies a saved audit', async () => {
    const key = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey);
    const event = { auditID: 'one', requestReceivedTimestamp: '2026-01-12T10:00:00.000Z' };
    const hash = hashOf(firstHash, 1, event);
    const time = '2026-01-12T10:01:00.000Z';
    const signed = await signedCheckpoint({ sequence: 1, hash, time, count: 1 }, { ...key, kid: 'one' });
    const { d: _private, ...publicKey } = key;
    const head = { checkpoints: [signed], keys: [{ ...publicKey, kid: 'one' }], newest: 1 };
    const verify = async (user: string) => {
      const lines = [head, { sequence: 1, hash, event: { ...event, ...(user && { user }) } }, { last: 1 }];
      const file = await machine.file('audit.ndjson', lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return [program, plugin.service].map((one) => machine.spawn([process.execPath, one, 'audit', 'verify', file]).finished);
    };
    for (const finished of await verify(''))
      expect(await finished).to.deep.equal({
        code: 0,
        stdout: `Events: 1, from ${event.requestReceivedTimestamp} to ${event.requestReceivedTimestamp}\nNewest checkpoint: event 1, ${time}\n`,
        stderr: 'The audit has no gap.\n',
      });
    for (const finished of await verify('eve')) expect(await finished).to.include({ code: 1, stdout: '' });
    for (const one of [program, plugin.service])
      expect(await machine.spawn([process.execPath, one, 'audit', 'verify', 'none']).finished).to.include({ code: 2, stdout: '' });
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
