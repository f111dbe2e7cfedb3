import { expect } from 'chai';
import type { ApiClient } from '../../service/conformance/api-client.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { bothClusters } from './both-clusters.ts';

/** Differs from "default", where the API server creates a Service of its own some time after its start. */
const core = '/api/v1/namespaces/limited';
const pod = (name: string, resources: object) => ({
  metadata: { name },
  spec: { serviceAccountName: 'web', containers: [{ name: 'main', image: 'registry.example.com/web:1', resources }] },
});
const hard = { pods: '2', 'requests.cpu': '1', 'limits.memory': '1Gi', services: '1', secrets: '1' };
const used = { pods: '0', 'requests.cpu': '0', 'limits.memory': '0', services: '0', secrets: '0' };
const fitting = { requests: { cpu: '250m' }, limits: { memory: '512Mi' } };

/** Objects in order. An accepted object counts in the quota for the next ones. */
const attempts: readonly [path: string, body: object][] = [
  ['pods', pod('bare', {})],
  ['pods', pod('partly', { requests: { cpu: '1' } })],
  ['pods', pod('large', { requests: { cpu: '1500m' }, limits: { memory: '2Gi' } })],
  ['pods', pod('first', fitting)],
  ['pods', pod('hungry', { requests: { cpu: '800m' }, limits: { memory: '512Mi' } })],
  ['pods', pod('second', fitting)],
  ['pods', pod('third', fitting)],
  ['services', { metadata: { name: 'one' }, spec: { ports: [{ port: 80 }] } }],
  ['services', { metadata: { name: 'two' }, spec: { ports: [{ port: 80 }] } }],
  ['secrets', { metadata: { name: 'one' } }],
  ['secrets', { metadata: { name: 'two' } }],
  ['configmaps', { metadata: { name: 'free' } }],
];

describe('quotas of the embedded cluster beside kube-apiserver', () => {
  const { real, embedded } = bothClusters();

  it('refuse the same objects with the same messages', async () => {
    for (const client of [real, embedded]) {
      await client.create('/api/v1/namespaces', { metadata: { name: 'limited' } });
      await client.create(`${core}/resourcequotas`, { metadata: { name: 'team' }, spec: { hard } });
      await client.patch(`${core}/resourcequotas/team/status`, { status: { hard, used } });
    }
    // kube-apiserver reads quotas from a watch.
    await eventually(
      () => real.post(`${core}/pods`, pod('bare', {}), { dryRun: 'All' }),
      ({ status }) => status === 403,
    );
    for (const [path, body] of attempts) {
      const shown = async (client: ApiClient) => {
        const { status, body: answer } = await client.post(`${core}/${path}`, body);
        const { message, details } = answer as { message?: string; details?: object };
        return { status, message, details };
      };
      expect(await shown(embedded), JSON.stringify(body)).to.deep.equal(await shown(real));
    }
  });

  it('fill in the same requests and limits by a LimitRange', async () => {
    const limits = [{ type: 'Container', default: { cpu: '500m' }, defaultRequest: { cpu: '100m', memory: '32Mi' } }];
    for (const client of [real, embedded]) {
      await client.create('/api/v1/namespaces', { metadata: { name: 'ranged' } });
      await client.create('/api/v1/namespaces/ranged/limitranges', { metadata: { name: 'range' }, spec: { limits } });
    }
    const resources = async (client: ApiClient, name: string, given: object) => {
      const { body } = await client.post('/api/v1/namespaces/ranged/pods', pod(name, given), { dryRun: 'All' });
      return (body as { spec?: { containers: { resources: object }[] } }).spec?.containers[0]?.resources;
    };
    await eventually(
      () => resources(real, 'waiting', {}),
      (found) => Object.keys(found ?? {}).length > 0,
    );
    for (const given of [{}, { requests: { cpu: '200m' } }, { limits: { cpu: '300m', memory: '64Mi' } }])
      expect(await resources(embedded, 'a', given), JSON.stringify(given)).to.deep.equal(await resources(real, 'a', given));
  });
});
