import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { auditEventList } from '../../../src/activity/schema.ts';
import { runSandbox, type SandboxOptions } from '../../../src/sandbox.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';

const packageRoot = new URL('../../../', import.meta.url);
const infoFile = z.object({ url: z.string(), people: z.array(z.object({ email: z.string(), token: z.string() })) });

describe('the process of the demo', () => {
  it('serves another page, and tells what cannot be', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    await writeFile(join(directory, 'index.html'), '<p>another page</p>');
    const other = new Command(['sandbox', '--port', `${await freePort()}`, '--users', '0', '--static', directory]);
    await eventually(
      () => other.process.exitCode !== null || other.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    const url = /http:\/\/\S+/.exec(other.stdout)?.[0] ?? '';
    const page = await fetch(url, { headers: { accept: 'text/html' } });
    const kubeconfig = /--kubeconfig (\S+)/.exec(other.stdout)?.[1] ?? '';
    expect(await page.text()).to.equal('<p>another page</p>');
    expect(existsSync(kubeconfig)).to.equal(true);
    other.signal('SIGINT');
    expect((await other.finished).code).to.equal(0);
    expect(existsSync(dirname(kubeconfig))).to.equal(false);

    const refused = await new Command(['sandbox', '--port', '0', '--origin', 'localhost:5173']).finished;
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.contain('server.corsOrigins[0]: must be an origin');
    await rm(directory, { recursive: true });
  });

  it('has neither bindings, tokens nor access requests with --minimal', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const info = join(directory, 'info.json');
    const demo = new Command(['sandbox', '--port', `${await freePort()}`, '--users', '0', '--minimal', '--info', info]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    expect(demo.stderr).to.equal('');
    const { url, people } = infoFile.parse(JSON.parse(await readFile(info, 'utf8')));
    const { token } = people.find(({ email }) => email === 'admin@example.com') ?? {};
    const paths = [
      '/auth/v2/users',
      '/auth/v2/userbindings',
      '/auth/v1/accesstokens',
      '/auth/v1/accessrequests',
      '/apis/apps/v1/deployments',
    ];
    const statuses = await Promise.all(
      paths.map(async (path) => (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).status),
    );

    expect(statuses).to.deep.equal([200, 404, 404, 404, 404]);
    expect(demo.stdout).not.to.include('Vera asks');
    demo.signal('SIGINT');
    expect((await demo.finished).code).to.equal(0);
    await rm(directory, { recursive: true });
  });

  it('shows earlier events to their users, without the right to list audits', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const info = join(directory, 'info.json');
    const demo = new Command(['sandbox', '--port', `${await freePort()}`, '--users', '0', '--info', info]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    const { url, people } = infoFile.parse(JSON.parse(await readFile(info, 'utf8')));
    const actionsOf = async (email: string) => {
      const headers = { authorization: `Bearer ${people.find((person) => person.email === email)?.token}` };
      const { scope, items } = auditEventList.parse(await (await fetch(`${url}/auth/v1/audit`, { headers })).json());
      expect(scope).to.equal('Own');
      return items.map(({ verb, objectRef: { resource } }) => `${verb} ${resource}`);
    };
    expect(await actionsOf('nobody@example.com')).to.include.members(['delete pods', 'create accessrequests', 'update accessrequests']);
    expect(await actionsOf('manager@example.com')).to.include('patch users');
    demo.signal('SIGINT');
    expect((await demo.finished).code).to.equal(0);
    await rm(directory, { recursive: true });
  });

  it('refuses a wrong option with a sentence about it, before it builds or starts anything', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const file = join(directory, 'file');
    await writeFile(file, '');
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const refusals = [
      [{ port }, `port ${port} of 127.0.0.1 is in use by another program`],
      [{ host: '192.0.2.1' }, '--host 192.0.2.1 is no address of this machine'],
      [{ static: join(directory, 'none') }, 'none: the directory has no readable index.html'],
      [{ data: join(file, 'below') }, 'below: the directory cannot be made'],
      [{ info: join(directory, 'none/info.json') }, 'info.json: the directory cannot be written'],
      [{ origin: ['localhost:5173'] }, 'server.corsOrigins[0]: must be an origin'],
    ] as const;
    let prepared = 0;
    for (const [wrong, sentence] of refusals) {
      const refused = await runSandbox({
        ...{ host: '127.0.0.1', port: 0, users: 0, origin: [], redirectUrl: [], environment: {}, packageRoot },
        ...(wrong as Partial<SandboxOptions>),
        prepare: async () => {
          prepared += 1;
        },
      }).catch((error: Error) => error.message);
      expect(refused, JSON.stringify(wrong)).to.be.a('string').that.includes(sentence);
    }
    expect(prepared).to.equal(0);
    taken.close();
    await rm(directory, { recursive: true });
  });

  it('hangs up on a client that comes before it is ready, so that the client tries again', async () => {
    const port = await freePort();
    const outcomes: string[] = [];
    const started = runSandbox({
      ...{ host: '127.0.0.1', port, users: 0, origin: [], redirectUrl: [], environment: {}, packageRoot },
      prepare: async () => {
        outcomes.push(
          await fetch(`http://127.0.0.1:${port}/readyz`).then(
            () => 'answered',
            () => 'hung up',
          ),
        );
        throw new Error('the end of this test');
      },
    });

    expect(await started.catch((error: Error) => error.message)).to.equal('the end of this test');
    expect(outcomes).to.deep.equal(['hung up']);
  });

  it('ends with the npm that runs it, and leaves nothing behind', async () => {
    const npm = spawn('npm', ['run', 'demo', '--', '--port', `${await freePort()}`, '--users', '0'], {
      cwd: packageRoot,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    npm.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    await eventually(
      () => npm.exitCode !== null || stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    const kubeconfig = /--kubeconfig (\S+)/.exec(stdout)?.[1] ?? '';
    expect(existsSync(kubeconfig)).to.equal(true);

    npm.kill('SIGTERM');

    await eventually(
      () => existsSync(dirname(kubeconfig)),
      (isThere) => !isThere,
    );
  });
});
