import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { kubectl, kubectlArguments } from '../../support/kubectl.ts';
import { startStreams } from './support.ts';

describe('kubectl through the service, with pods', () => {
  const suite = forSuite(() => startStreams());

  const run = (...args: string[]) => kubectl(suite.target, ...args);
  const output = async (...args: string[]) => {
    const { isDone, stdout, stderr } = await run(...args);
    expect(isDone, stderr).to.equal(true);
    return stdout;
  };
  /** Starts a command that runs until it is ended. */
  const begin = (...args: string[]) => {
    const child = spawn('kubectl', [...kubectlArguments(suite.target), ...args]);
    const ended = once(child, 'exit');
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.stderr.on('data', (chunk) => {
      text += chunk;
    });
    return {
      text: () => text,
      ended,
      async end() {
        child.kill();
        await ended;
      },
    };
  };

  it('shows logs, and follows them', async () => {
    await suite.node.log('main', 'one\n');
    expect(await output('logs', 'shell')).to.equal('one\n');

    const following = begin('logs', '-f', 'shell');
    await eventually(following.text, (text) => text.includes('one\n'));
    await suite.node.log('main', 'two\n');
    await eventually(following.text, (text) => text === 'one\ntwo\n');
    await following.end();
  });

  it('runs a command: output, input, exit code', async () => {
    expect(await output('exec', 'shell', '--', 'echo', 'hello')).to.equal('hello\n');
    const { isDone, stderr } = await run('exec', 'shell', '--', 'sh', '-c', 'echo oh >&2; exit 7');
    expect(isDone).to.equal(false);
    expect(stderr)
      .to.match(/^oh\n/)
      .and.match(/exit code 7/);
  });

  for (const websockets of ['true', 'false']) {
    const protocol = websockets === 'true' ? 'WebSocket' : 'SPDY';
    /** Returns the answer of a command to a line of input. */
    const answered = async (line: string, ...args: string[]) => {
      const child = spawn('kubectl', [...kubectlArguments(suite.target), ...args], {
        env: { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: websockets },
      });
      let text = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
      });
      child.stdin.end(line);
      expect(await once(child, 'exit')).to.deep.equal([0, null]);
      return text;
    };

    it(`runs a command by ${protocol}, with input`, async () => {
      expect(await answered('many words\n', 'exec', '-i', 'shell', '--', 'tr', 'a-z', 'A-Z')).to.equal('MANY WORDS\n');
    });

    it(`attaches to a running container by ${protocol}`, async () => {
      expect(await answered('many words\n', 'attach', '-i', 'shell')).to.equal('many words\n');
    });
  }

  it('copies files there and back', async () => {
    const from = join(suite.node.directory, 'big');
    await writeFile(from, Buffer.alloc(5_000_000, 'x'));
    await output('cp', from, `shell:${join(suite.node.directory, 'copied')}`);
    await output('cp', `shell:copied`, join(suite.node.directory, 'back'));
    expect((await readFile(join(suite.node.directory, 'back'))).equals(await readFile(from))).to.equal(true);
  });

  it('forwards a port, more than one connection at a time', async () => {
    const web = createServer((request, response) => response.end(`you asked for ${request.url}`));
    web.listen(0, '127.0.0.1');
    await once(web, 'listening');
    const there = (web.address() as AddressInfo).port;
    const here = await freePort();
    const forwarding = begin('port-forward', 'pod/shell', `${here}:${there}`);
    await eventually(forwarding.text, (text) => text.includes('Forwarding from 127.0.0.1'));
    const answers = await Promise.all(['/a', '/b', '/c'].map(async (path) => (await fetch(`http://127.0.0.1:${here}${path}`)).text()));
    expect(answers).to.deep.equal(['you asked for /a', 'you asked for /b', 'you asked for /c']);
    await forwarding.end();
    web.close();
  });

  it('applies on the server, and describes a pod', async () => {
    const file = join(suite.node.directory, 'map.yaml');
    await writeFile(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied, namespace: default}\ndata: {a: "1"}\n');
    expect(await output('apply', '--server-side', '-f', file)).to.equal('configmap/applied serverside-applied\n');
    expect(await output('diff', '--server-side', '-f', file)).to.equal('');
    expect(await output('describe', 'pod', 'shell')).to.match(/Status: +Running/);
    expect(await output('get', 'pods', '--all-namespaces', '-o', 'wide')).to.match(/shell +1\/1 +Running/);
    expect(await output('explain', 'pods.spec.nodeName')).to.match(/FIELD: nodeName <string>/);
  });

  it('passes on the API server’s refusal of an exec', async () => {
    const asViewer = { ...suite.target, token: await suite.server.token('viewer') };
    const { isDone, stderr } = await kubectl(asViewer, 'exec', 'shell', '--', 'id');
    expect(isDone).to.equal(false);
    expect(stderr).to.match(/pods "shell" is forbidden: User "viewer" cannot (create|get) resource "pods\/exec"/);
  });

  it('audits begin and end of a command, without the command', async () => {
    await output('exec', 'shell', '--', 'echo', 'a-secret-word');
    const sessions = suite.server.auditLines.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'KubernetesSession');
    expect(sessions.at(-2)).to.deep.include({ reason: 'Begin', session: { path: '/api/v1/namespaces/default/pods/shell/exec' } });
    await eventually(
      () => suite.server.auditLines.map((line) => JSON.parse(line)).at(-1),
      ({ reason }) => reason === 'End',
    );
    expect([...suite.server.auditLines, ...suite.server.logLines].join('\n')).to.not.contain('a-secret-word');
  });
});
