import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { before } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { type KubectlTarget, kubectl } from '../../support/kubectl.ts';
import { loopbackCertificates } from '../certificates.ts';
import { startNode } from '../node.ts';

const [ada, password] = ['ada@example.com', 'correct horse'];
const pod = '/api/v1/namespaces/default/pods/shell';
const node = '/api/v1/nodes/one-machine/proxy';

describe('shells past Atrium, with its admission policy', () => {
  const suite = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const login = await startEmbeddedLogin({
      emails: [ada],
      password,
      credentials: 'impersonate',
      audit: { refuseDirectShells: true, recordings: [{ mode: 'required' }] },
      auditStore,
    });
    const { serving } = await loopbackCertificates();
    const machine = await startNode(login.admin, serving);
    await machine.addPod('shell');
    await login.admin.apply(clusterRoleBinding('ada', 'cluster-admin', { kind: 'User', name: ada }));
    await login.admin.applyFile('direct-shells.yaml');
    return {
      ...login,
      async stop() {
        await machine.stop();
        await login.stop();
        await auditStore.stop();
      },
    };
  });
  let target: KubectlTarget;

  /** Sends a request to the API server as an administrator, with all rights, past Atrium. */
  const direct = async (path: string, headers: Record<string, string> = {}) => {
    const { status, body } = await suite.admin.call('POST', path, undefined, headers);
    const { message } = (body ?? {}) as { message?: string };
    return [status, message?.includes('shells go through Atrium') ?? false];
  };

  before(async () => {
    const { body } = await suite.logIn(ada, password, '?token_storage=local');
    const { access_token: token } = (JSON.parse(body) as { ext: { token: { access_token: string } } }).ext.token;
    target = { url: `${suite.url}/api/kubernetes`, caFile: suite.caFile, token };
    // A policy takes effect a moment after its creation.
    await eventually(
      () => direct(`${pod}/exec?command=id`),
      ([status]) => status === 403,
    );
  });

  it('are refused for an administrator, also at the kubelet and with rights of another user', async () => {
    const asAda = { 'impersonate-user': ada };
    const refused = [
      await direct(`${pod}/exec?command=id`),
      await direct(`${pod}/exec?command=id`, asAda),
      await direct(`${pod}/attach?stdin=true`),
      await direct(`${node}/exec/default/shell/main?command=id`),
      await direct(`${node}/run/default/shell/main?cmd=id`),
      await direct(`${node}/metrics/../run/default/shell/main?cmd=id`),
      await direct(`${node}/cri/exec/token`),
    ];
    expect(refused).to.deep.equal(refused.map(() => [403, true]));
  });

  it('are open through Atrium, with kubectl in both protocols', async () => {
    const ran = await kubectl(target, 'exec', 'shell', '--', 'echo', 'hello');
    expect(ran).to.deep.equal({ isDone: true, stdout: 'hello\n', stderr: '' });
    process.env.KUBECTL_REMOTE_COMMAND_WEBSOCKETS = 'false';
    const overSPDY = await kubectl(target, 'exec', 'shell', '--', 'echo', 'hello').finally(() => {
      delete process.env.KUBECTL_REMOTE_COMMAND_WEBSOCKETS;
    });
    expect(overSPDY).to.deep.equal(ran);
    const listed = await suite.request('/auth/v1/audit/recordings', { headers: { authorization: `Bearer ${target.token}` } });
    const { directShells, items } = (await listed.json()) as { directShells: string; items: unknown[] };
    expect([directShells, items.length]).to.deep.equal(['Refused', 2]);
  });

  it('are refused for an account that may impersonate the user, and not the extra', async () => {
    const rules = [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }];
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await suite.admin.apply({ apiVersion, kind: 'ClusterRole', metadata: { name: 'acting' }, rules });
    await suite.admin.apply(clusterRoleBinding('acting', 'acting', { kind: 'User', name: 'viewer' }));
    const token = await suite.cluster.token('viewer');
    const forged = { authorization: `Bearer ${token}`, 'impersonate-user': ada, 'impersonate-extra-atrium.platform.io%2factor': ada };
    const answers = await eventually(
      async () => [
        await direct(`${pod}/exec?command=id`, { ...forged }),
        await suite.admin.isAllowed({ user: 'viewer' }, { verb: 'impersonate', resource: 'users' }),
      ],
      ([, isEffective]) => isEffective === true,
    );
    expect(answers[0]).to.deep.equal([403, false]);
  });

  it('leave metrics of the kubelet and other connections as they are', async () => {
    expect((await direct(`${node}/metrics`))[0]).not.to.equal(403);
    const forwarded = await direct(`${pod}/portforward?ports=80`);
    expect(forwarded[1]).to.equal(false);
  });
});
