import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { type KubernetesObject, valueAt } from '@atrium/embedded-cluster/objects.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator, apiOf } from './api.ts';

const metrics = '/apis/metrics.k8s.io/v1beta1';
const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };

interface PodMetrics extends KubernetesObject {
  timestamp: string;
  window: string;
  containers: { name: string; usage: { cpu: string; memory: string } }[];
}

describe('the metrics API of the embedded cluster', () => {
  let clock = Date.parse('2026-03-01T12:00:00Z');
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true, now: () => new Date(clock) }));
  const admin = administrator(cluster);
  const list = async (path: string) => ((await admin.send('GET', `${metrics}/${path}`)).body as { items: PodMetrics[] }).items;
  const phases = async () => {
    clock += 1_000;
    const { items } = (await admin.send('GET', '/api/v1/pods')).body as { items: KubernetesObject[] };
    return items.map((pod) => valueAt(pod, ['status', 'phase']));
  };

  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
  const pod = (name: string, image = 'storefront:1') => ({
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: 'main', image, resources }] },
  });

  before(async () => {
    await cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' } });
    for (const body of [pod('web'), pod('other'), pod('greedy', 'recommendations:1'), pod('stuck', 'web:bad')])
      await admin.send('POST', '/api/v1/namespaces/default/pods', body);
    await eventually(phases, (found) => found.filter((phase) => phase === 'Running').length >= 3);
  });

  it('is announced as metrics-server announces it: to be read, and not to be watched', async () => {
    const { resources: served } = (await admin.send('GET', metrics)).body as { resources: object[] };
    expect(served).to.deep.equal([
      { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
      { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
    ]);
    expect((await admin.send('GET', `${metrics}/pods?watch=true`)).status).to.equal(405);
    expect((await admin.send('DELETE', `${metrics}/nodes/one`)).status).to.equal(405);
  });

  it('answers the usage of running containers, the same within a window and other figures later', async () => {
    const [web] = await list('namespaces/default/pods?labelSelector=app%3Dweb');
    expect(web).to.deep.include({ window: '15s' });
    expect(web?.metadata).to.deep.include({ name: 'web', namespace: 'default', labels: { app: 'web' } });
    expect(web?.containers[0]).to.have.property('name', 'main');
    const { body } = await admin.send('GET', `${metrics}/namespaces/default/pods/web`);
    expect(body).to.deep.include({ kind: 'PodMetrics', containers: web?.containers });
    expect((await list('pods')).map(({ metadata }) => metadata.name)).not.to.include('stuck');
    expect(await list('namespaces/kube-system/pods')).to.deep.equal([]);

    clock += 60_000;
    expect((await list('namespaces/default/pods?labelSelector=app%3Dweb'))[0]?.containers).not.to.deep.equal(web?.containers);
    expect((await admin.send('GET', `${metrics}/namespaces/default/pods/stuck`)).status).to.equal(404);
  });

  it('keeps each container below its limits, but for the one that runs out of memory', async () => {
    const most = new Map<string, number>();
    for (let step = 0; step < 60; step += 1) {
      clock += 20_000;
      for (const { metadata, containers } of await list('pods')) {
        const { cpu = '', memory = '' } = containers[0]?.usage ?? {};
        expect(quantityOf(cpu)).to.be.within(0.001, 0.2);
        const name = metadata.name ?? '';
        most.set(name, Math.max(most.get(name) ?? 0, quantityOf(memory) ?? 0));
      }
    }
    const limit = 128 * 1024 ** 2;
    expect(most.get('web')).to.be.within(limit / 8, limit * 0.9);
    const greedy = await eventually(
      async () => {
        clock += 1_000;
        return (await list('pods')).find(({ metadata }) => metadata.name === 'greedy');
      },
      (found) => (quantityOf(found?.containers[0]?.usage.memory ?? '0') ?? 0) > limit * 0.9,
    );
    expect(greedy?.metadata.name).to.equal('greedy');
  });

  it('adds up the pods of a node, and prints Tables as metrics-server does', async () => {
    const [node] = (await list('nodes')) as unknown as { usage: { cpu: string; memory: string } }[];
    const { columnDefinitions, rows } = (await admin.send('GET', `${metrics}/nodes`, undefined, table)).body as {
      columnDefinitions: { name: string; format: string }[];
      rows: { cells: unknown[] }[];
    };
    expect(columnDefinitions.map(({ name, format }) => [name, format])).to.deep.equal([
      ['Name', 'name'],
      ['cpu', 'quantity'],
      ['memory', 'quantity'],
      ['Window', 'duration'],
    ]);
    expect(rows[0]?.cells).to.deep.equal(['one', node?.usage.cpu, node?.usage.memory, '15s']);
  });

  it('is read by callers with the role view, in their namespace alone', async () => {
    await cluster.apply({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'viewer', namespace: 'default' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
    });
    const viewer = apiOf(cluster, await cluster.issueToken({ username: 'viewer' }));
    try {
      const status = async (path: string) => (await viewer.send('GET', path)).status;
      expect(await status(`${metrics}/namespaces/default/pods`)).to.equal(200);
      expect(await status('/apis/apps/v1/namespaces/default/deployments')).to.equal(200);
      expect(await status('/api/v1/namespaces/default/pods/web/log')).to.equal(200);
      expect(await status(`${metrics}/nodes`)).to.equal(403);
      expect(await status('/api/v1/namespaces/default/pods/web/exec')).to.equal(403);
    } finally {
      await viewer.close();
    }
  });
});
