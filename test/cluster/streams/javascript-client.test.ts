import { type EventEmitter, once } from 'node:events';
import { request } from 'node:https';
import type { Socket } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Exec, KubeConfig, type V1Status } from '@kubernetes/client-node';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startStreams } from './support.ts';

describe('the official JavaScript client through the service, with pods', () => {
  const suite = forSuite(() => startStreams({ kubernetes: { proxy: { pingInterval: '100ms' } } }));

  const configOf = (token: string) => {
    const config = new KubeConfig();
    const caData = Buffer.from(suite.certificateAuthority).toString('base64');
    config.loadFromClusterAndUser({ name: 'console', server: suite.target.url, skipTLSVerify: false, caData }, { name: 'caller', token });
    return config;
  };

  const collector = () => {
    let text = '';
    const stream = new Writable({
      write(chunk, _encoding, done) {
        text += chunk;
        done();
      },
    });
    return { stream, text: () => text };
  };

  it('runs a command, by WebSocket', async () => {
    const [out, err] = [collector(), collector()];
    const status = await new Promise<V1Status>((resolve, reject) => {
      new Exec(configOf(suite.target.token))
        .exec('default', 'shell', 'main', ['sh', '-c', 'echo out; echo err >&2; exit 3'], out.stream, err.stream, null, false, resolve)
        .catch(reject);
    });
    expect([out.text(), err.text(), status.details?.causes?.[0]?.message]).to.deep.equal(['out\n', 'err\n', '3']);
  });

  it('keeps a terminal that was idle, with pings and their pongs', async () => {
    const out = collector();
    const input = new PassThrough();
    const socket = await new Exec(configOf(suite.target.token)).exec('default', 'shell', 'main', ['cat'], out.stream, null, input, false);
    let pings = 0;
    (socket as unknown as EventEmitter).on('ping', () => {
      pings += 1;
    });
    await eventually(
      () => pings,
      (count) => count >= 5,
    );
    input.write('still here');
    await eventually(
      () => out.text(),
      (text) => text === 'still here',
    );
    socket.close();
  });

  it('closes a log that has ended with the code 1000', async () => {
    const { url, token: bearer } = suite.target;
    const call = request(`${url}/api/v1/namespaces/default/pods/shell/log`, {
      ca: suite.certificateAuthority,
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Protocol': 'binary.k8s.io',
        Authorization: `Bearer ${bearer}`,
      },
    });
    call.end();
    const [, socket, head] = (await once(call, 'upgrade')) as [unknown, Socket, Buffer];
    socket.unshift(head);
    const bytes = await buffer(socket);
    // A Close frame with 1000, as two bytes.
    expect([...bytes.subarray(-4)]).to.deep.equal([0x88, 2, 0x03, 0xe8]);
  });

  it('AUZ-07 loses its connection when its token becomes invalid', async () => {
    const { admin, token } = await serviceAccount();
    const out = collector();
    const socket = await new Exec(configOf(token)).exec('default', 'shell', 'main', ['cat'], out.stream, null, new PassThrough(), false);
    let isOver = false;
    socket.on('close', () => {
      isOver = true;
    });
    await admin.remove('/api/v1/namespaces/default/serviceaccounts/robot');
    // The service checks the token at the API server each minute.
    await eventually(() => isOver, Boolean);
  });

  async function serviceAccount() {
    const admin = suite.server.kubernetes;
    await admin.apply(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'robot' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
        subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
      },
    );
    const { body } = await admin.call('POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    });
    return { admin, token: (body as { status: { token: string } }).status.token };
  }
});
