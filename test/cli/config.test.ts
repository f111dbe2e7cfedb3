import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { run } from '../support/command.ts';

describe('atrium config, atrium serve', () => {
  let directory: string;
  const file = async (text: string) => {
    const path = join(directory, 'config.yaml');
    await writeFile(path, text);
    return path;
  };
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
  });
  after(() => rm(directory, { recursive: true }));

  it('checks a configuration without starting anything', async () => {
    const { code, stdout } = await run(['config', 'check', '--config', await file('server: { port: 1 }')]);

    expect([code, stdout]).to.deep.equal([0, 'the configuration is valid\n']);
  });

  it('tells every problem and exits with 2; serve does the same and never listens', async () => {
    const probe = createServer();
    const port = await new Promise<number>((resolve) =>
      probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port)),
    );
    probe.close();
    const path = await file(`server: { host: 127.0.0.1, port: ${port}, bodyLimit: lots, prot: 1 }`);

    for (const args of [['config', 'check'], ['serve']]) {
      const { code, stderr } = await run([...args, '--config', path]);
      expect(code, args.join(' ')).to.equal(2);
      expect(stderr).to.contain('server.bodyLimit: must be a size').and.to.contain('server.prot: is not a setting');
      expect(stderr).not.to.contain('    at ');
    }
  });

  it('exits with 2 for a file that is not there, and when it has no cluster to go to', async () => {
    expect(await run(['serve', '--config', join(directory, 'absent.yaml')])).to.include({ code: 2 });
    const { code, stderr } = await run(['serve']);
    expect(code).to.equal(2);
    expect(stderr).to.contain('kubernetes.kubeconfig: name a kubeconfig file');
  });

  it('prints the configuration in force, variables and defaults included', async () => {
    const { code, stdout } = await run(['config', 'print', '--config', await file('server: { port: 1 }')], {
      ATRIUM_SERVER__HOST: '127.0.0.1',
    });

    expect(code).to.equal(0);
    expect(parse(stdout)).to.nested.include({ 'server.port': 1, 'server.host': '127.0.0.1', 'server.shutdownGrace': '25s' });
  });

  it('prints the OpenAPI document', async () => {
    const { code, stdout } = await run(['openapi']);

    expect(code).to.equal(0);
    expect(JSON.parse(stdout)).to.have.nested.property('paths./auth/v2/users.get.operationId', 'ListUsers');
  });
});
