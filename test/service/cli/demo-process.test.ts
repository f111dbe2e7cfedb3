import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';

const packageRoot = new URL('../../../', import.meta.url);

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

  it('lets the viewer ask for a role with --access-requests', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const info = join(directory, 'info.json');
    const demo = new Command(['sandbox', '--port', `${await freePort()}`, '--users', '0', '--access-requests', '--info', info]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    const { url, people } = z
      .object({ url: z.string(), people: z.array(z.object({ email: z.string(), token: z.string() })) })
      .parse(JSON.parse(await readFile(info, 'utf8')));
    const viewer = people.find(({ email }) => email === 'viewer@example.com')?.token;
    const options = `${url}/auth/v1/accessrequests/options?verb=patch&group=apps&resource=deployments&namespace=shop`;
    await eventually(
      async () => {
        const answer = await fetch(options, { headers: { authorization: `Bearer ${viewer}` } });
        return answer.status === 200 && JSON.stringify(await answer.json());
      },
      (text) => text !== false && text.includes('"policy":"shop-edit"') && text.includes('"role":"edit"'),
    );
    demo.signal('SIGINT');
    expect((await demo.finished).code).to.equal(0);
    await rm(directory, { recursive: true });
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
