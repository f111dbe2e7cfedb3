import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { clientGoProgram } from '../../../cluster/build.ts';
import { startNode, type TestNode } from '../../../cluster/node.ts';
import { type ClusterAdmin, eventually } from '../../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../../support/embedded-login.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { clusterRoleBinding } from '../../../support/grants.ts';
import { program } from '../generator.ts';

const ann = { email: 'ann@example.com', password: 'Zuihitsu-84-bloom' };
const logIn = z.object({ ext: z.object({ token: z.object({ id_token: z.string() }) }) });
/** Lines of the program about one ConfigMap. */
const changes = [
  'list: 0',
  ...['watch: ADDED red', 'informer: add red', 'create again: AlreadyExists'],
  ...['watch: MODIFIED green', 'informer: update green', 'update of an old version: Conflict'],
  ...['watch: MODIFIED blue', 'informer: update blue'],
  ...['watch: MODIFIED grey', 'informer: update grey'],
  ...['apply: Conflict', 'watch: MODIFIED black', 'informer: update black', 'applied by: applier'],
  ...['delete of another: Conflict', 'watch: DELETED black', 'informer: delete black', 'get: NotFound'],
];

const running = z.object({ status: z.object({ phase: z.literal('Running') }) });

describe('client-go with the kubeconfig of the console', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [ann.email], password: ann.password, hasWorkloads: true }));
  let directory: string;
  let node: TestNode | undefined;
  before(async () => {
    if (process.env.TEST_CLUSTER === 'real') node = await startNode(service.admin, service.cluster.serving);
    await (node ? node.addPod('shell') : simulatePod(service.admin));
    await node?.log('main', 'one\n');
    directory = await mkdtemp(join(tmpdir(), 'atrium-client-go-'));
    await service.admin.apply(clusterRoleBinding('ann-edits', 'edit', { kind: 'User', name: ann.email }));
  });
  after(async () => {
    await node?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('lists, watches, informs, creates, updates, patches, applies on the server, deletes, reads logs and runs commands', async () => {
    const { body } = await service.logIn(ann.email, ann.password, '?token_storage=local');
    const { id_token: token } = logIn.parse(JSON.parse(body)).ext.token;
    const headers = { authorization: `Bearer ${token}` };
    const answer = await service.request('/auth/v1/kubeconfig?via=console&mode=token', { headers });
    const KUBECONFIG = join(directory, 'kubeconfig.yaml');
    await writeFile(KUBECONFIG, await answer.text(), { mode: 0o600 });

    const printed = await program(await clientGoProgram(), [], { env: { KUBECONFIG } });

    expect(JSON.parse(printed)).to.deep.equal([
      ...['application/json', ...changes],
      ...['application/vnd.kubernetes.protobuf', ...changes],
      ...['nodes: Forbidden', 'refused: nodes 403', 'name: Invalid of metadata.name', 'logs: true', 'exec: hello'],
    ]);
  });
});

/** Creates a pod that the embedded cluster simulates. Resolves when it runs. */
async function simulatePod(admin: ClusterAdmin): Promise<void> {
  await admin.apply(
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' }, spec: {} },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'shell', namespace: 'default' },
      spec: { containers: [{ name: 'main', image: 'registry.example.com/storefront:1' }] },
    },
  );
  await eventually(
    () => admin.call('GET', '/api/v1/namespaces/default/pods/shell'),
    ({ body }) => running.safeParse(body).success,
  );
}
