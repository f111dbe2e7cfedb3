import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { type JsonObject, type KubernetesObject, valueAt } from '@atrium/embedded-cluster/objects.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator } from './api.ts';

const core = '/api/v1/namespaces/default';
const apps = '/apis/apps/v1/namespaces/default';
const merge = { 'content-type': 'application/merge-patch+json' };
const labels = { app: 'web' };

describe('controllers of the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  const admin = administrator(cluster);
  const read = async (path: string) => (await admin.send('GET', path)).body as KubernetesObject & { items: KubernetesObject[] };
  const create = async (path: string, body: object) => {
    const answer = await admin.send('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
  };
  const resources = { requests: { cpu: '100m' } };
  const containers = [{ name: 'main', image: 'storefront:1', resources, ports: [{ name: 'http', containerPort: 8080 }] }];

  before(async () => {
    await cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' } });
    const template = { metadata: { labels }, spec: { containers } };
    await create(`${apps}/deployments`, { metadata: { name: 'web' }, spec: { replicas: 2, selector: { matchLabels: labels }, template } });
  });

  it('keep the EndpointSlice of a Service: the pods that it finds, with the number of a named port', async () => {
    await create(`${core}/services`, { metadata: { name: 'web' }, spec: { selector: labels, ports: [{ port: 80, targetPort: 'http' }] } });
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dweb';
    const endpoints = async () => ((await read(slices)).items[0]?.endpoints ?? []) as JsonObject[];
    const ready = (all: readonly JsonObject[]) => all.filter((one) => valueAt(one, ['conditions', 'ready']) === true);
    const [first] = await eventually(endpoints, (all) => ready(all).length === 2);
    expect(first).to.deep.include({ nodeName: 'one', conditions: { ready: true, serving: true, terminating: false } });
    expect(valueAt(first, ['targetRef', 'name'])).to.match(/^web-/);
    const [slice] = (await read(slices)).items;
    expect(slice?.ports).to.deep.equal([{ name: '', protocol: 'TCP', port: 8080 }]);
    expect(slice?.metadata.ownerReferences?.[0]).to.include({ kind: 'Service', name: 'web' });

    await admin.send('PATCH', `${apps}/deployments/web/scale`, { spec: { replicas: 1 } }, merge);
    await eventually(endpoints, (all) => all.length === 1);
    await admin.send('DELETE', `${core}/services/web`);
    await eventually(
      async () => (await read(slices)).items,
      (left) => left.length === 0,
    );
  });

  it('follow the load of a Deployment with its replicas, within the bounds of the HorizontalPodAutoscaler', async () => {
    const template = { metadata: { labels: { app: 'busy' } }, spec: { containers } };
    const selector = { matchLabels: { app: 'busy' } };
    await create(`${apps}/deployments`, { metadata: { name: 'busy' }, spec: { replicas: 1, selector, template } });
    const scalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'busy' };
    const target = (averageUtilization: number) => [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } },
    ];
    await create(scalers, { metadata: { name: 'busy' }, spec: { scaleTargetRef, maxReplicas: 3, metrics: target(1) } });
    const reasons = async () => {
      const { conditions = [] } = (await read(`${scalers}/busy`)).status as { conditions?: JsonObject[] };
      return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
    };
    // The first pod is not running yet.
    expect(await eventually(reasons, ({ length }) => length > 0)).to.include('ScalingActive False FailedGetResourceMetric');
    await admin.send('PATCH', `${scalers}/busy`, { spec: { minReplicas: 2 } }, merge);
    await eventually(
      async () => {
        await admin.send('PATCH', `${scalers}/busy`, { metadata: { labels: { seen: String(Date.now()) } } }, merge);
        return valueAt(await read(`${apps}/deployments/busy`), ['spec', 'replicas']);
      },
      (replicas) => replicas === 3,
    );
    expect(await reasons()).to.include.members(['ScalingActive True ValidMetricFound', 'ScalingLimited True TooManyReplicas']);
    const { status } = await read(`${scalers}/busy`);
    expect(valueAt(status, ['currentMetrics', '0', 'resource', 'current', 'averageUtilization'])).to.be.above(1);

    await create(scalers, { metadata: { name: 'lost' }, spec: { scaleTargetRef: { ...scaleTargetRef, name: 'none' }, maxReplicas: 3 } });
    const lost = async () => valueAt(await read(`${scalers}/lost`), ['status', 'conditions', '0', 'reason']);
    await eventually(lost, (reason) => reason === 'FailedGetScale');
    await admin.send('DELETE', `${scalers}/busy`);
    await admin.send('DELETE', `${apps}/deployments/busy`);
    await eventually(
      async () => (await read(`${core}/pods?labelSelector=app%3Dbusy`)).items,
      (left) => left.length === 0,
    );
  });

  it('count the usage of a quota, and note why a pod is missing', async () => {
    await create(`${core}/resourcequotas`, { metadata: { name: 'team' }, spec: { hard: { pods: '2', 'requests.cpu': '2' } } });
    const used = async () => valueAt(await read(`${core}/resourcequotas/team`), ['status', 'used']);
    await eventually(used, (now) => JSON.stringify(now) === JSON.stringify({ pods: '1', 'requests.cpu': '100m' }));
    await admin.send('PATCH', `${apps}/deployments/web/scale`, { spec: { replicas: 3 } }, merge);
    await eventually(used, (now) => valueAt(now, ['pods']) === '2');
    const messages = async () =>
      (await read(`${core}/events?fieldSelector=reason%3DFailedCreate`)).items.map(({ message }) => String(message));
    const [message] = await eventually(messages, ({ length }) => length > 0);
    expect(message).to.match(
      /^Error creating: pods "web-\S+" is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2$/,
    );
    await admin.send('PATCH', `${apps}/deployments/web/scale`, { spec: { replicas: 0 } }, merge);
    await eventually(used, (now) => valueAt(now, ['pods']) === '0');
  });
});
