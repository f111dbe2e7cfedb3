import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { type KubernetesObject, valueAt } from '@atrium/embedded-cluster/objects.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator } from './api.ts';

const pods = '/api/v1/namespaces/default/pods';
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const labels = { app: 'web' };

describe('the eviction API of the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  const admin = administrator(cluster);
  const read = async (path: string) => (await admin.send('GET', path)).body as KubernetesObject & { items: KubernetesObject[] };
  const evict = (name: string) => admin.send('POST', `${pods}/${name}/eviction`, { metadata: { name, namespace: 'default' } });

  before(async () => {
    await cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' } });
    const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'storefront:1' }] } };
    const spec = { replicas: 2, selector: { matchLabels: labels }, template };
    await admin.send('POST', '/apis/apps/v1/namespaces/default/deployments', { metadata: { name: 'web' }, spec });
    const body = { metadata: { name: 'web' }, spec: { minAvailable: 2, selector: { matchLabels: labels } } };
    expect((await admin.send('POST', budgets, body)).status).to.equal(201);
    await eventually(
      async () => valueAt(await read(`${budgets}/web`), ['status', 'currentHealthy']),
      (healthy) => healthy === 2,
    );
  });

  it('refuses an eviction that a budget does not allow, and evicts once it does', async () => {
    const [pod] = (await read(pods)).items;
    const name = pod?.metadata.name ?? '';
    const refusal = await evict(name);
    expect(refusal.status).to.equal(429);
    expect(refusal.body).to.deep.include({
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: { causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget web needs 2 healthy pods and has 2 currently' }] },
    });
    expect((await read(`${pods}/${name}`)).metadata).not.to.have.property('deletionTimestamp');

    await admin.send('PATCH', `${budgets}/web`, { spec: { minAvailable: 1 } }, { 'content-type': 'application/merge-patch+json' });
    expect((await evict(name)).status).to.equal(201);
    const status = await eventually(
      async () => (await read(`${budgets}/web`)).status as Record<string, unknown>,
      ({ disruptionsAllowed, observedGeneration }) => disruptionsAllowed === 1 && observedGeneration === 2,
    );
    expect(status).to.deep.include({ currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 });
  });
});
