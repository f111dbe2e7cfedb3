import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';
import { forSuite } from '../../../support/for-suite.ts';
import { grant } from '../../../support/grants.ts';
import { startServer } from '../../../support/server.ts';
import { program, python } from '../generator.ts';

describe('the official Python client, through /api/kubernetes', () => {
  const server = forSuite(() => startServer());
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-python-'));
    await grant(server.kubernetes, 'manager', 'edit');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('lists, watches, applies on the server and deletes, with the rights of its caller', async () => {
    const config = new KubeConfig();
    const token = await server.token('manager');
    config.loadFromClusterAndUser(
      { name: 'console', server: `${server.url}/api/kubernetes`, skipTLSVerify: true },
      { name: 'manager', token },
    );
    const KUBECONFIG = join(directory, 'kubeconfig.json');
    await writeFile(KUBECONFIG, config.exportConfig());

    const script = fileURLToPath(new URL('client.py', import.meta.url));
    const printed = await program(await python('kubernetes-python'), [script], { env: { KUBECONFIG, HOME: directory } });

    expect(JSON.parse(printed)).to.deep.equal({
      applied: 'red',
      conflict: 409,
      managers: ['other'],
      listed: [{ color: 'blue' }],
      events: [
        ['ADDED', 'red'],
        ['MODIFIED', 'blue'],
        ['DELETED', 'blue'],
      ],
      afterwards: 404,
      nodes: 403,
    });
  });
});
