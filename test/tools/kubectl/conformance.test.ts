import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { installShipped } from '../../service/conformance/manifests.ts';
import { aWidget } from '../../service/conformance/widget.ts';
import { openWorkspace } from '../../service/conformance/workspace.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type KubectlTarget, kubectl as run } from '../../support/kubectl.ts';

describe('the kubectl of this machine', () => {
  const workspace = forSuite(
    () => openWorkspace(),
    (it) => it.close(),
  );
  let directory: string;
  let target: KubectlTarget;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
    const { url, certificateAuthority } = workspace.server;
    const caFile = join(directory, 'ca.crt');
    await writeFile(caFile, certificateAuthority);
    target = { url, caFile, token: await workspace.server.token('admin') };
    await writeFile(join(directory, 'widget.yaml'), stringify(aWidget('from-file', { color: 'green' })));
    await writeFile(join(directory, 'misspelt.yaml'), stringify(aWidget('misspelt', { colour: 'green' })));
  });
  after(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  const kubectl = async (...args: string[]) => {
    const { isDone, stdout, stderr } = await run(target, `--namespace=${workspace.namespace}`, ...args);
    if (!isDone) throw new Error(stderr);
    return stdout;
  };
  const refusal = (...args: string[]) =>
    kubectl(...args).then(
      () => 'not refused',
      (error: unknown) => String(error),
    );

  it('creates from a file and prints the columns of the definition', async () => {
    expect(await kubectl('create', '-f', join(directory, 'widget.yaml'))).to.include('widget.conformance.example.com/from-file created');
    const lines = (await kubectl('get', 'widgets')).trim().split('\n');

    expect(lines[0]).to.match(/^NAME +COLOR +SEEN +AGE$/);
    expect(lines[1]).to.match(/^from-file +green +[\dms]+$/);
    expect(await kubectl('get', 'wdg', '-o', 'wide')).to.match(/^NAME +COLOR +SEEN +SIZE +AGE/);
    expect(await kubectl('get', 'conformance', '-o', 'name')).to.equal('widget.conformance.example.com/from-file\n');
  });

  it('applies a file, and again after a change', async () => {
    const configMap = (value: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'applied' },
      data: { a: value, kept: '1' },
    });
    const file = join(directory, 'applied.yaml');
    const documents = (value: string, size: number) => `${stringify(configMap(value))}---\n${stringify(aWidget('applied', { size }))}`;
    await writeFile(file, documents('1', 1));
    expect(await kubectl('apply', '-f', file)).to.equal('configmap/applied created\nwidget.conformance.example.com/applied created\n');
    await writeFile(file, documents('2', 2));

    expect(await kubectl('apply', '-f', file)).to.equal(
      'configmap/applied configured\nwidget.conformance.example.com/applied configured\n',
    );
    expect(await kubectl('apply', '-f', file)).to.equal('configmap/applied unchanged\nwidget.conformance.example.com/applied unchanged\n');
    expect(await kubectl('get', 'configmap', 'applied', '-o', 'jsonpath={.data}')).to.equal('{"a":"2","kept":"1"}');
    expect(await kubectl('get', 'widget', 'applied', '-o', 'jsonpath={.spec.size}')).to.equal('2');
  });

  it('lists users with their columns', async () => {
    await installShipped(workspace.admin);
    const user = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'User',
      metadata: { name: `kubectl-${workspace.namespace}` },
      spec: {
        email: 'ann@example.com',
        username: 'Ann',
        connector_type: 'local',
        connector_id: 'local',
        connector_name: 'Local',
        is_admin: false,
      },
    };
    await writeFile(join(directory, 'user.yaml'), stringify(user));
    await kubectl('create', '-f', join(directory, 'user.yaml'));
    const lines = (await kubectl('get', 'users.auth.platform.io', user.metadata.name)).split('\n');
    await kubectl('delete', '-f', join(directory, 'user.yaml'));

    expect(lines[0]).to.match(/^NAME +USERNAME +DISPLAY NAME +SOURCE +PHASE +LAST LOGIN +AGE$/);
    expect(lines[1]).to.match(/^kubectl-\S+ +ann@example\.com +Ann +Local +[\dms]+$/);
  });

  it('refuses a misspelt field', async () => {
    expect(await refusal('create', '-f', join(directory, 'misspelt.yaml'))).to.match(/unknown field "spec\.colour"/);
  });

  it('patches, labels and deletes', async () => {
    await kubectl('create', 'configmap', 'handled', '--from-literal=a=1');
    await kubectl('patch', 'configmap', 'handled', '--type=merge', '-p', '{"data":{"a":"2"}}');
    await kubectl('patch', 'configmap', 'handled', '-p', '{"data":{"b":"3"}}');
    await kubectl('label', 'configmap', 'handled', 'by=kubectl');

    expect(await kubectl('get', 'configmap', '-l', 'by=kubectl', '-o', 'jsonpath={.items[0].data}')).to.equal('{"a":"2","b":"3"}');
    expect(await kubectl('delete', 'configmap', 'handled')).to.include('"handled" deleted');
    expect(await refusal('get', 'configmap', 'handled')).to.include('Error from server (NotFound): configmaps "handled" not found');
  });

  it('queries the rights of a user', async () => {
    expect(await kubectl('auth', 'can-i', 'delete', 'namespaces')).to.include('yes');
    expect(await kubectl('auth', 'whoami')).to.include('admin');
    expect(await kubectl('auth', 'can-i', '--list')).to.match(/\*\.\* +\[\] +\[\] +\[\*\]/);
  });

  it('creates a token of a service account', async () => {
    await kubectl('create', 'serviceaccount', 'robot');

    expect(await kubectl('create', 'token', 'robot')).to.match(/^[\w-]+\.[\w-]+\.[\w-]+\n?$/);
  });

  it('lists the resources of the server', async () => {
    expect(await kubectl('api-resources', '--api-group', 'conformance.example.com')).to.match(
      /widgets +wdg +conformance\.example\.com\/v1 +true +Widget/,
    );
    expect(await kubectl('api-versions')).to.include('rbac.authorization.k8s.io/v1');
  });
});
