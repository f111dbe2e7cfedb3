import { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node';
import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('the official JavaScript client', () => {
  const { workspace, admin } = suiteWorkspace();
  let config: KubeConfig;
  let core: CoreV1Api;
  before(async () => {
    config = new KubeConfig();
    config.loadFromClusterAndUser(
      {
        name: 'test',
        server: workspace.server.url,
        caData: Buffer.from(workspace.server.certificateAuthority).toString('base64'),
        skipTLSVerify: false,
      },
      { name: 'admin', token: await workspace.server.token('admin') },
    );
    core = config.makeApiClient(CoreV1Api);
  });

  it('creates, reads, replaces, lists and deletes typed objects', async () => {
    const { namespace } = workspace;
    const created = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'typed' }, data: { a: '1' } } });
    expect(created.metadata?.creationTimestamp).to.be.an.instanceOf(Date);
    await core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: { ...created, data: { a: '2' } } });
    expect((await core.readNamespacedConfigMap({ namespace, name: 'typed' })).data).to.deep.equal({ a: '2' });
    const list = await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=typed' });
    expect(list.items.map((item) => item.metadata?.name)).to.deep.equal(['typed']);
    const gone = await core.deleteNamespacedConfigMap({ namespace, name: 'typed' });

    expect(gone.status).to.equal('Success');
  });

  it('throws the code of a failure', async () => {
    const failure = await core.readNamespacedConfigMap({ namespace: workspace.namespace, name: 'missing' }).then(
      () => undefined,
      (error: unknown) => error,
    );

    expect(failure).to.have.property('code', 404);
    expect(failure).to.have.property('body').that.includes('configmaps \\"missing\\" not found');
  });

  it('reaches custom objects', async () => {
    await admin.create(workspace.widgets, aWidget('custom'));
    const list: unknown = await config.makeApiClient(CustomObjectsApi).listNamespacedCustomObject({
      group: 'conformance.example.com',
      version: 'v1',
      namespace: workspace.namespace,
      plural: 'widgets',
    });

    expect(list).to.have.nested.property('items[0].metadata.name', 'custom');
  });

  it('follows a resource with an informer', async () => {
    const seen: string[] = [];
    const path = workspace.configMaps;
    const informer = makeInformer<V1ConfigMap>(config, path, () => core.listNamespacedConfigMap({ namespace: workspace.namespace }));
    for (const event of ['add', 'update', 'delete'] as const) {
      informer.on(event, (object) => {
        if (object.metadata?.name?.startsWith('followed')) seen.push(`${event} ${object.metadata.name}`);
      });
    }
    let stopped = false;
    informer.on('error', (error: unknown) => {
      if (!stopped) seen.push(`error ${String(error)}`);
    });
    await admin.create(path, { metadata: { name: 'followed-1' } });
    await informer.start();
    await admin.create(path, { metadata: { name: 'followed-2' } });
    await admin.patch(`${path}/followed-1`, { data: { a: '1' } });
    await admin.delete(`${path}/followed-2`);

    const expected = ['add followed-1', 'add followed-2', 'update followed-1', 'delete followed-2'];
    try {
      await eventually(async () => expect(seen).to.deep.equal(expected));
    } finally {
      stopped = true;
      await informer.stop();
    }
  });
});
