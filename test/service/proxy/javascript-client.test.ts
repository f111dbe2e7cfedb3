import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });

describe('the official JavaScript client, through the service', () => {
  const server = forSuite(() => startServer());
  let config: KubeConfig;

  before(async () => {
    await grant(server.kubernetes, 'manager', 'edit');
    config = new KubeConfig();
    // The client needs an option to work without TLS.
    config.loadFromClusterAndUser(
      { name: 'console', server: `${server.url}/api/kubernetes`, skipTLSVerify: true },
      { name: 'manager', token: await server.token('manager') },
    );
  });

  it('creates, lists, patches and deletes', async () => {
    const core = config.makeApiClient(CoreV1Api);
    await core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'made' }, data: { a: '1' } } });
    await core.replaceNamespacedConfigMap({ namespace: 'default', name: 'made', body: { metadata: { name: 'made' }, data: { a: '2' } } });
    const { items } = await core.listNamespacedConfigMap({ namespace: 'default', fieldSelector: 'metadata.name=made' });
    expect(items.map(({ data }) => data)).to.deep.equal([{ a: '2' }]);
    await core.deleteNamespacedConfigMap({ namespace: 'default', name: 'made' });
    expect(await core.listNode().catch((error: { code: number }) => error.code)).to.equal(403);
  });

  it('runs its informer, which follows changes', async () => {
    const core = config.makeApiClient(CoreV1Api);
    const seen: string[] = [];
    const informer = makeInformer<V1ConfigMap>(config, '/api/v1/namespaces/default/configmaps', () =>
      core.listNamespacedConfigMap({ namespace: 'default' }),
    );
    for (const event of ['add', 'update', 'delete'] as const) informer.on(event, ({ metadata }) => seen.push(`${event} ${metadata?.name}`));
    await informer.start();
    await server.kubernetes.apply(map('followed'));
    await eventually(
      () => seen,
      (events) => events.includes('add followed'),
    );
    await server.kubernetes.apply({ ...map('followed'), data: { a: '1' } });
    await eventually(
      () => seen,
      (events) => events.includes('update followed'),
    );
    await server.kubernetes.remove('/api/v1/namespaces/default/configmaps/followed');
    await eventually(
      () => seen,
      (events) => events.includes('delete followed'),
    );
    await informer.stop();
  });

  it('asks as other consoles do: tables, metadata alone, bookmarks, many resources at once', async () => {
    await server.kubernetes.apply(map('shown'));
    const base = '/api/kubernetes';
    const get = (path: string, headers: Record<string, string> = {}) => server.request(`${base}${path}`, { as: 'manager', headers });
    const discovery = await get('/apis', {
      Accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json',
    });
    expect((await discovery.json()) as object).to.have.property('items');
    const table = await get('/api/v1/namespaces/default/configmaps?limit=250&cluster=local', {
      Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
    });
    expect(await table.json()).to.deep.include({ kind: 'Table' });
    const metadata = await get('/api/v1/namespaces/default/configmaps/shown', {
      Accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    expect(await metadata.json()).to.deep.include({ kind: 'PartialObjectMetadata' });
    const rules = await server.request(`${base}/apis/authorization.k8s.io/v1/selfsubjectrulesreviews`, {
      method: 'POST',
      as: 'manager',
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } },
    });
    expect(rules.status).to.equal(201);
    const merged = await server.request(`${base}/api/v1/namespaces/default/configmaps/shown`, {
      method: 'PATCH',
      as: 'manager',
      headers: { 'Content-Type': 'application/json-patch+json' },
      body: [{ op: 'add', path: '/data', value: { a: '1' } }],
    });
    expect(merged.status).to.equal(200);
  });
});
