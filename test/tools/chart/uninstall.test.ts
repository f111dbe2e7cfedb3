import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { bindingFinalizer, bindingLabel } from '../../../src/bindings/schema.ts';
import { startControlPlane } from '../../cluster/control-plane.ts';
import { forSuite } from '../../support/for-suite.ts';
import { pages } from '../docs/page.ts';
import { namespace } from './chart.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';

const run = promisify(execFile);
const overlay = fileURLToPath(new URL('../../../deploy/example-overlay', import.meta.url));

/** Commands of docs/install.md that remove all objects. */
const removal = pages()
  .find(({ path }) => path === 'docs/install.md')
  ?.commands.find(({ text }) => text.includes('finalizers'))?.text;

const binding = {
  apiVersion: 'auth.platform.io/v1',
  kind: 'UserBinding',
  metadata: { name: 'team', finalizers: [bindingFinalizer] },
  spec: { scope: 'platform', roleRef: 'view', subjects: [{ kind: 'User', name: 'ada@example.com' }] },
};

describe('removal of all objects by the commands of docs/install.md', () => {
  const plane = forSuite(() => startControlPlane({ people: ['admin'], controllers: ['deployment-controller', 'replicaset-controller'] }));
  let kubectl: Kubectl;
  before(async () => {
    // No pod runs that could remove a finalizer, as after an uninstallation of the service.
    kubectl = kubectlFor(plane.kubeconfig);
    await kubectl(['apply', `--kustomize=${overlay}`]);
    await kubectl(['wait', '--for=condition=Established', 'crds', '--all']);
    // kube-apiserver creates the store of a kind at the first request for it. If that is the deletion of its definition, the deletion
    // may fail once, and is retried only after five minutes.
    const kinds = await kubectl(['get', 'crds', '--output=jsonpath={.items[*].metadata.name}']);
    await kubectl(['get', kinds.trim().replaceAll(' ', ','), '--all-namespaces']);
  });

  it('does not wait for a UserBinding with a finalizer, and deletes its RBAC', async () => {
    const made = JSON.parse(await kubectl(['create', '--filename=-', '--output=json'], JSON.stringify(binding)));
    const owner = { apiVersion: binding.apiVersion, kind: binding.kind, name: 'team', uid: made.metadata.uid, controller: true };
    await kubectl(
      ['create', '--filename=-'],
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'team-view', labels: { [bindingLabel]: 'team' }, ownerReferences: [owner] },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada@example.com' }],
      }),
    );
    const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', KUBECONFIG: plane.kubeconfig };

    await run('bash', ['-ec', (removal ?? 'exit 9').replaceAll('my-overlay', overlay)], { env });

    const left = (kind: string) => kubectl(['get', kind, '--output=name']);
    expect(await left('crds')).to.equal('');
    expect(await left('namespaces')).not.to.include(namespace);
    expect((await left('clusterroles')).match(/atrium/g)).to.equal(null);
    expect((await left('clusterrolebindings')).match(/team-view|atrium/g)).to.equal(null);
  });
});
