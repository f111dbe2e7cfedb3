import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { revoke } from '../../support/grants.ts';
import { kubectlArguments } from '../../support/kubectl.ts';
import { startStreams } from './support.ts';

describe('kubectl through the service, when a right is lost', () => {
  const suite = forSuite(() => startStreams());

  /** Starts a command, and waits for its output. */
  const begin = async (args: string[], isThere: (text: string) => boolean, environment: Record<string, string> = {}) => {
    const child = spawn('kubectl', [...kubectlArguments(suite.target), ...args], { env: { ...process.env, ...environment } });
    const exit = once(child, 'exit');
    let text = '';
    for (const output of [child.stdout, child.stderr])
      output.on('data', (chunk) => {
        text += chunk;
      });
    child.stdin.write('hello\n');
    await eventually(() => text, isThere);
    return { text: () => text, exit };
  };

  it('JIT-16 ends commands, logs, port-forwards and watches', async () => {
    await suite.node.log('main', 'one\n');
    const shell = ['exec', '-i', 'shell', '--', 'cat'];
    const isEchoed = (text: string) => text.includes('hello');
    const [webSocket, spdy, log, watch] = [
      await begin(shell, isEchoed),
      await begin(shell, isEchoed, { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' }),
      await begin(['logs', '-f', 'shell'], (text) => text.includes('one')),
      await begin(['get', 'pods', '-w'], (text) => text.includes('shell')),
    ];
    const forward = await begin(['port-forward', 'pod/shell', `${await freePort()}:80`], (text) => text.includes('Forwarding'));

    await revoke(suite.server.kubernetes, 'manager', 'cluster-admin');
    const ended = await Promise.all([webSocket, spdy, log, watch, forward].map(async ({ exit }) => (await exit)[0]));
    // kubectl takes the end of a SPDY connection for success, and an ERROR event for a row.
    expect(ended).to.deep.equal([1, 0, 1, 0, 1]);
    expect(webSocket.text()).to.contain('the permission was revoked');
    expect(watch.text()).to.contain('User "manager" cannot watch resource "pods"');
  });
});
