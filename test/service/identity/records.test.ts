import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { recordSweep } from '../../../src/identity/sweep.ts';
import { apiServer } from '../../support/api-server.ts';
import { type ClusterAdmin, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { connectionWith, install } from '../../support/installed-cluster.ts';

const path = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/identityrecords`;

describe('the sweep of identity records', () => {
  const cluster = forSuite(() => apiServer({ isReused: true }));
  let kubernetes: ClusterAdmin;
  let service: KubernetesClient;

  before(async () => {
    kubernetes = await install(cluster);
    const token = await kubernetes.serviceToken();
    const connection = connectionWith(token, cluster);
    service = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics: new Metrics() });
  });
  after(async () => {
    await service.close();
    await kubernetes.close();
  });

  it('deletes expired records on all pages, and no others', async () => {
    const expirations = Array.from({ length: 26 }, (_, index) => (index % 2 === 0 ? '2026-03-01T12:00:00Z' : '2026-03-01T12:10:00Z'));
    await Promise.all(
      expirations.map((expiration, index) =>
        kubernetes.call('POST', path, {
          apiVersion: 'auth.platform.io/v1',
          kind: 'IdentityRecord',
          metadata: { name: `grant-${index}` },
          spec: { model: 'Grant', expiration, sealed: 'x' },
        }),
      ),
    );
    const log = createLog({ level: 'silent', format: 'json' });
    const client = service.asService;
    const now = () => new Date('2026-03-01T12:05:00Z');
    const sweeper = new Sweeper({ client, log }, recordSweep({ client, namespace: serviceNamespace, now }, 10));
    await sweeper.run();
    await sweeper.stop();

    const { body } = await kubernetes.call('GET', path);
    const { items } = body as { items: { spec: { expiration: string } }[] };
    expect(items).to.have.lengthOf(13);
    expect(new Set(items.map(({ spec }) => spec.expiration))).to.deep.equal(new Set(['2026-03-01T12:10:00Z']));
  });
});
