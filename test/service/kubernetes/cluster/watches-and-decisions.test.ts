import type { Bearer } from '@atrium/http/caller.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AccessReviews } from '@atrium/kubernetes/access.ts';
import { IdentityCache } from '@atrium/kubernetes/identity.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { resourcePath } from '@atrium/kubernetes/resource.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { expect } from 'chai';
import { failureOf, forever, silentLog } from '../../../../packages/kubernetes/test/fake-api-server.ts';
import { type Person, apiServer as startCluster } from '../../../support/api-server.ts';
import { clientOf } from '../../../support/client-of.ts';
import { eventually } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';

const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const rbac = (resource: string) => ({ group: 'rbac.authorization.k8s.io', version: 'v1', resource });
const definitions = (name?: string) =>
  resourcePath({ group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' }, { ...(name && { name }) });
const namespace = `kubernetes-${process.pid}`;
const things = { group: `t${process.pid}.example.org`, version: 'v1', resource: 'things' };
const thing = (name: string) => ({ apiVersion: `${things.group}/v1`, kind: 'Thing', metadata: { name } });
const thingsDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things.${things.group}` },
  spec: {
    group: things.group,
    scope: 'Cluster',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

describe('the client of a cluster', () => {
  const cluster = forSuite(() => startCluster());
  const admin = clientOf(cluster, 'admin');
  let relay: TcpProxy;
  let client: KubernetesClient;
  const metrics = new Metrics();
  const parts = () => ({ client: client.asService, log: silentLog, metrics });
  const bearer = async (person: Person): Promise<Bearer> => ({ token: await cluster.token(person), hash: `hash of ${person}` });
  const signal = forever();

  const create = (path: string, body: unknown) => client.asService.request({ call: 'create', method: 'POST', path, body, signal });
  const remove = (path: string) => client.asService.request({ call: 'delete', method: 'DELETE', path, signal });
  const configMap = (name: string, data: Record<string, string>) =>
    create(resourcePath(configMaps, { namespace }), { metadata: { name }, data });
  const watchConfigMaps = () =>
    new WatchCache<unknown>(parts(), { name: 'configmaps', type: configMaps, namespace, pageSize: 2, keep: ({ data }) => data ?? 'none' });

  before(async () => {
    relay = new TcpProxy(cluster.url);
    await relay.start();
    const token = await cluster.token('admin');
    client = new KubernetesClient({
      connection: {
        server: relay.url,
        tls: { ca: cluster.certificateAuthority },
        namespace: undefined,
        authorization: async () => `Bearer ${token}`,
        discardAuthorization() {},
      },
      requestTimeoutMs: 60_000,
      metrics,
    });
    await create(resourcePath(namespaces), { metadata: { name: namespace } });
  });
  after(async () => {
    await remove(resourcePath(namespaces, { name: namespace }));
    await client.close();
    await relay.cut();
  });

  it('FLT-13 drops from a watch cache the objects of a definition that is deleted while the connection is cut', async () => {
    await create(definitions(), thingsDefinition);
    const isServed = () =>
      create(resourcePath(things), thing('first')).then(
        () => true,
        () => false,
      );
    await eventually(isServed, Boolean);
    const times = { minWatchSeconds: 20, maxWatchSeconds: 25, silenceMs: 28_000, minPauseMs: 5, maxPauseMs: 40 };
    const cache = new WatchCache<string>({ ...parts(), times }, { name: 'things', type: things, keep: ({ metadata: { name } }) => name });
    cache.start();
    await cache.whenSynced();

    await relay.cut();
    await eventually(() => cache.failure(), Boolean);
    const { name } = thingsDefinition.metadata;
    await admin.call('DELETE', definitions(name));
    await eventually(
      () => admin.call('GET', definitions(name)),
      ({ status }) => status === 404,
    );
    expect([...cache.values()]).to.deep.equal(['first']);
    await relay.mend();
    await eventually(() => cache.size === 0, Boolean);

    expect([cache.state, cache.outdated()]).to.deep.equal(['notInstalled', undefined]);
    await cache.stop();
  });

  it('follows it by a watch cache, which loses nothing while the connection is cut', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await configMap(name, { name });
    const cache = watchConfigMaps();
    cache.start();
    await cache.whenSynced();
    for (const name of ['a', 'b', 'c', 'd', 'e']) expect(cache.get(name)).to.deep.equal({ name });
    await configMap('f', { name: 'f' });
    await remove(resourcePath(configMaps, { namespace, name: 'a' }));
    await eventually(() => cache.get('f') !== undefined && cache.get('a') === undefined, Boolean);
    await relay.cut();
    await eventually(() => cache.failure(), Boolean);
    expect(cache.isStale()).to.equal(true);
    await relay.mend();
    await remove(resourcePath(configMaps, { namespace, name: 'b' }));
    await eventually(() => cache.get('b') === undefined && !cache.isStale(), Boolean);

    expect(
      [...cache.entries()]
        .map(([key]) => key)
        .filter((key) => key.length === 1)
        .sort(),
    ).to.deep.equal(['c', 'd', 'e', 'f']);
    await cache.stop();
  });

  it('has a write in the cache once its version has been seen', async () => {
    const cache = watchConfigMaps();
    cache.start();
    await cache.whenSynced();
    const made = await configMap('written', { a: 'b' });
    const { resourceVersion } = (made as { metadata: { resourceVersion: string } }).metadata;

    expect(await cache.until(() => cache.hasSeen(resourceVersion), 120_000, signal)).to.equal(true);
    expect(cache.get('written')).to.deep.equal({ a: 'b' });
    await cache.stop();
  });

  it('reports the watch of a missing resource', async () => {
    const type = { group: 'example.org', version: 'v1', resource: 'missing' };
    const cache = new WatchCache<unknown>(parts(), { name: 'missing', type, keep: () => true });
    cache.start();
    await eventually(() => cache.failure(), Boolean);

    expect(cache.failure()).to.equal('404 NotFound');
    await cache.stop();
  });

  it('identifies the user of a token, and refuses a token without a user', async () => {
    const identities = new IdentityCache({ apiServer: client, metrics, now: () => new Date() });
    const { identity } = await identities.identify(await bearer('admin'), signal);

    expect(identity.name).to.equal('admin');
    expect(identity.groups).to.include.members(['system:masters', 'system:authenticated']);
    expect(await failureOf(identities.identify({ token: 'nonsense', hash: 'nonsense' }, signal))).to.have.nested.property(
      'status.code',
      401,
    );
  });

  it('returns refusals of the cluster in its words', async () => {
    const alice = client.asCaller(await bearer('alice'));
    const path = resourcePath(configMaps, { namespace, name: 'x' });
    const refusal = await failureOf(alice.request({ call: 'get configmaps', method: 'GET', path, signal }));
    const missing = await failureOf(client.asService.request({ call: 'get configmaps', method: 'GET', path, signal }));

    expect(refusal).to.have.nested.property('status.code', 403);
    expect(refusal)
      .to.have.property('message')
      .that.equals(
        `configmaps "x" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "${namespace}"`,
      );
    expect(missing).to.have.deep.nested.property('status.details', { name: 'x', kind: 'configmaps' });
  });

  it('AUZ-07 changes permissions of a caller with the bindings, not with the cache time', async () => {
    let now = 0;
    const reviews = new AccessReviews({ apiServer: client, accessCacheMs: 3_600_000, metrics, now: () => new Date(), clock: () => now });
    const watch = new RbacWatch(parts(), { onChange: () => reviews.clear() });
    watch.start();
    await eventually(() => watch.failure() === undefined, Boolean);
    const alice = await bearer('alice');
    const can = () => {
      now += 100;
      return reviews.can(alice, { verb: 'get', group: '', resource: 'configmaps', namespace, name: 'c' }, signal);
    };
    expect(await can()).to.equal(false);
    await create(resourcePath(rbac('roles'), { namespace }), {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['c'], verbs: ['get'] }],
    });
    await create(resourcePath(rbac('rolebindings'), { namespace }), {
      metadata: { name: 'alice-reads' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
    });
    await eventually(can, (isAllowed) => isAllowed);
    // Some time after the change, an allowed answer is cached for an hour, unless a role changes.
    now += 2000;
    expect(await can()).to.equal(true);
    await remove(resourcePath(rbac('rolebindings'), { namespace, name: 'alice-reads' }));
    await eventually(can, (isAllowed) => !isAllowed);

    expect(await can()).to.equal(false);
    await watch.stop();
  });
});
