import { PassThrough, Writable } from 'node:stream';
import { Exec, KubeConfig, type V1Status } from '@kubernetes/client-node';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startStreams } from './support.ts';

describe('the official JavaScript client through the service, with pods', () => {
  const suite = forSuite(() => startStreams());

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

  it('AUZ-07 loses its connection when its token no longer counts', async () => {
    const { admin, token } = await serviceAccount();
    const out = collector();
    const socket = await new Exec(configOf(token)).exec('default', 'shell', 'main', ['cat'], out.stream, null, new PassThrough(), false);
    let isOver = false;
    socket.on('close', () => {
      isOver = true;
    });
    await admin.remove('/api/v1/namespaces/default/serviceaccounts/robot');
    // The API server is asked about it each minute.
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
