import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule } from '../access/objects.ts';
import { aNodeMetrics, aPodMetrics, MetricsServer } from './metrics-server.ts';

const metricsServer = new MetricsServer();
metricsServer.items = {
  pods: [aPodMetrics('shop', 'web', { app: 'web' }, { cpu: '100m', memory: '64Mi' })],
  nodes: [aNodeMetrics('one', { cpu: '1500m', memory: '2Gi' })],
};

const mebi = 1024 ** 2;
const aPod = (namespace: string, name: string, ...resources: object[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace },
  spec: {
    nodeName: namespace === 'shop' ? 'one' : 'two',
    containers: resources.map((one, index) => ({ name: `c${index}`, image: 'web:1', resources: one })),
  },
});
const aNode = (name: string, cpu: string, memory: string) => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
  status: { capacity: { cpu: '64', memory: '64Gi' }, allocatable: { cpu, memory } },
});

const readsMetrics = { apiGroups: ['metrics.k8s.io'], resources: ['pods', 'nodes'], verbs: ['get', 'list'] };
const follows = { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['list', 'watch'] };
const objects = [
  aRole('lists-service', [follows]),
  aBinding('lists-service', { role: 'lists-service', to: `ServiceAccount:${serviceNamespace}/atrium` }),
  ...['shop', 'shop-2'].map((name) => aNamespace(name)),
  aPod('shop', 'web', { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '1' } }, { requests: { cpu: '100m' } }),
  aPod('shop', 'bare', {}),
  aPod('shop-2', 'db', { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } }),
  aNode('one', '3500m', '7Gi'),
  aNode('two', '3500m', '7Gi'),
  aRole('metrics', [readsMetrics]),
  ...['alice', 'bob'].map((name) => aBinding(`${name}-metrics`, { role: 'metrics', to: `User:${name}` })),
  aRole('pods', [podRule(['list'])], 'shop'),
  aBinding('alice-pods', { role: 'pods', roleKind: 'Role', to: 'User:alice', namespace: 'shop' }),
];

interface Answer {
  bounds?: object;
  message?: string;
}

describe('bounds of usage', () => {
  const server = forSuite(() =>
    startServer({
      config: {
        console: { metrics: { lastHour: true } },
        lists: { resources: ['pods', 'nodes'].map((resource) => ({ version: 'v1', resource })) },
      },
      ...{ objects, hasWorkloads: true, between: metricsServer.between.start },
    }),
  );
  const get = async (path: string, as: 'admin' | 'alice' | 'bob') => {
    const response = await server.request(`/api/v2/usage/${path}`, { as });
    const body = (await response.json()) as Answer;
    expect(response.status, body.message).to.equal(200);
    return body.bounds;
  };

  it('are the capacity of all nodes, and the requests and limits of all pods', async () => {
    const bounds = await eventually(
      () => get('nodes', 'admin'),
      (found) => JSON.stringify(found).includes('requests'),
    );
    expect(bounds).to.deep.equal({
      capacity: { cpu: 7, memory: 14 * 1024 * mebi },
      requests: { cpu: 2.35, memory: 1088 * mebi },
      limits: { cpu: 3, memory: 1024 * mebi },
    });
  });

  it('are those of the pods of a namespace', async () => {
    const ofShop = { requests: { cpu: 0.35, memory: 64 * mebi }, limits: { cpu: 1, memory: 0 } };
    expect(await get('namespaces/shop', 'alice')).to.deep.equal(ofShop);
    expect(await get('namespaces/shop', 'admin')).to.deep.equal(ofShop);
  });

  it('are those of the pods on a node', async () => {
    expect(await get('nodes/one', 'admin')).to.deep.equal({
      capacity: { cpu: 3.5, memory: 7 * 1024 * mebi },
      requests: { cpu: 0.35, memory: 64 * mebi },
      limits: { cpu: 1, memory: 0 },
    });
    expect(await get('nodes/one', 'alice')).to.deep.equal({});
  });

  it('are left out for a caller who may not list these pods and nodes, or only some of them', async () => {
    expect(await get('namespaces/shop', 'bob')).to.deep.equal({});
    expect(await get('namespaces/shop-2', 'alice')).to.deep.equal({});
    expect(await get('nodes', 'alice')).to.deep.equal({});
  });
});

describe('bounds of usage without lists', () => {
  const server = forSuite(() =>
    startServer({
      config: { console: { metrics: { lastHour: true } } },
      objects,
      hasWorkloads: true,
      between: metricsServer.between.start,
    }),
  );

  it('are left out', async () => {
    const response = await server.request('/api/v2/usage/nodes', { as: 'admin' });
    expect(response.status).to.equal(200);
    expect(((await response.json()) as Answer).bounds).to.deep.equal({});
  });
});
