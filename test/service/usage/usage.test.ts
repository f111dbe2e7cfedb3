import { expect } from 'chai';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { aNodeMetrics, aPodMetrics, MetricsServer } from './metrics-server.ts';

const metricsServer = new MetricsServer();
const ofWeb = { app: 'web', tier: 'front' };
metricsServer.items = {
  pods: [
    aPodMetrics('shop', 'web-a', ofWeb, { cpu: '100m', memory: '64Mi' }, { cpu: '50m', memory: '16Mi' }),
    aPodMetrics('shop', 'web-b', ofWeb, { cpu: '250000000n', memory: '81920Ki' }),
    aPodMetrics('shop', 'db-0', { app: 'db' }, { cpu: '1', memory: '1Gi' }),
    aPodMetrics('shop', 'unread', { app: 'web' }, { cpu: 'a lot', memory: '1Gi' }),
    aPodMetrics('shop', 'backup-29403360-x7k2p', { 'batch.kubernetes.io/job-name': 'backup-29403360' }, { cpu: '2', memory: '2Gi' }),
    aPodMetrics('shop', 'backup-full-29403360-x7k2p', {}, { cpu: '4', memory: '4Gi' }),
    aPodMetrics('shop-2', 'web-a', ofWeb, { cpu: '8', memory: '8Gi' }),
  ],
  nodes: [aNodeMetrics('one', { cpu: '1500m', memory: '2Gi' }), aNodeMetrics('two', { cpu: '500m', memory: '1Gi' })],
};

interface Answer {
  kind: string;
  message?: string;
  source?: string;
  since?: string;
  ranges?: string[];
  unavailable?: { reason: string };
  details?: { causes?: { field: string }[] };
  points?: { time: string; count: number | null; cpu: number | null; memory: number | null }[];
}

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 0,
    selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }], matchLabels: { tier: 'front' } },
    template: { metadata: { labels: ofWeb }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};

const cronJob = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'backup', namespace: 'shop' },
  spec: {
    schedule: '0 2 * * *',
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'backup', image: 'backup:1' }] } } } },
  },
};

const readsMetrics = (verbs: string[], resources: string[]) => [{ apiGroups: ['metrics.k8s.io'], resources, verbs }];
const objects = [
  aNamespace('shop'),
  aNamespace('shop-2'),
  aRole(
    'metrics',
    [...readsMetrics(['get', 'list'], ['pods']), { apiGroups: ['apps', 'batch'], resources: ['deployments', 'cronjobs'], verbs: ['get'] }],
    'shop',
  ),
  aBinding('alice-metrics', { role: 'metrics', roleKind: 'Role', to: 'User:alice', namespace: 'shop' }),
  aRole('one-pod', [{ ...readsMetrics(['get'], ['pods'])[0], verbs: ['get'], resourceNames: ['web-a'] }], 'shop'),
  aBinding('bob-metrics', { role: 'one-pod', roleKind: 'Role', to: 'User:bob', namespace: 'shop' }),
  aRole('node-metrics', readsMetrics(['list'], ['nodes'])),
  aBinding('carol-metrics', { role: 'node-metrics', to: 'User:carol' }),
];

const usageRequests = (server: TestServer) => async (path: string, as: Person) => {
  const response = await server.request(`/api/v2/usage/${path}`, { as });
  return { status: response.status, body: (await response.json()) as Answer };
};

describe('usage of the last hour', () => {
  const server = forSuite(() =>
    startServer({
      config: { console: { metrics: { lastHour: true } } },
      ...{ objects, hasWorkloads: true, between: metricsServer.between.start },
    }),
  );
  const get = (path: string, as: Person = 'alice') => usageRequests(server)(path, as);
  const figures = async (path: string, as?: Person) => {
    const { body, status } = await get(path, as);
    expect(status, JSON.stringify(body)).to.equal(200);
    const { count, cpu, memory } = body.points?.at(-1) ?? {};
    return { count, cpu, memory };
  };

  before(async () => {
    await server.kubernetes.apply(deployment, cronJob);
    await eventually(
      () => get('namespaces/shop'),
      ({ body }) => body.points?.length === 1,
    );
  });

  it('is the sum of the containers of a pod, with the time since when this replica measures', async () => {
    expect(await figures('namespaces/shop/pods/web-a')).to.deep.equal({ count: 1, cpu: 0.15, memory: 80 * 1024 ** 2 });
    const { body } = await get('namespaces/shop/pods/web-a');
    expect(body).to.deep.include({ kind: 'UsageHistory', source: 'metrics-server', ranges: ['1h'] });
    expect(body.since).to.equal(body.points?.[0]?.time);
    expect(body).not.to.have.property('unavailable');
  });

  it('is the sum of the pods that the selector of a workload finds, and of all pods of a namespace', async () => {
    expect(await figures('namespaces/shop/deployments/web')).to.deep.equal({ count: 2, cpu: 0.4, memory: 160 * 1024 ** 2 });
    expect(await figures('namespaces/shop')).to.deep.equal({ count: 5, cpu: 7.4, memory: (160 + 7 * 1024) * 1024 ** 2 });
  });

  it('is the sum of the pods of all Jobs that the name of a CronJob finds', async () => {
    expect(await figures('namespaces/shop/cronjobs/backup')).to.deep.equal({ count: 1, cpu: 2, memory: 2 * 1024 ** 3 });
    expect((await get('namespaces/shop/cronjobs/restore')).status).to.equal(404);
    expect((await get('namespaces/shop/cronjobs/backup', 'bob')).status).to.equal(403);
  });

  it('has a count of 0 and no figures for a pod that did not run, also if its figures cannot be read', async () => {
    for (const name of ['missing', 'unread'])
      expect(await figures(`namespaces/shop/pods/${name}`)).to.deep.equal({ count: 0, cpu: null, memory: null });
  });

  it('is the sum of all nodes, or that of one', async () => {
    expect(await figures('nodes', 'carol')).to.deep.equal({ count: 2, cpu: 2, memory: 3 * 1024 ** 3 });
    expect(await figures('nodes/one', 'admin')).to.deep.equal({ count: 1, cpu: 1.5, memory: 2 * 1024 ** 3 });
  });

  it('is refused without the right of the caller to these very metrics, in the words of the API server', async () => {
    const refusals: [string, Person, RegExp][] = [
      [
        'namespaces/shop',
        'nobody',
        /^pods.metrics.k8s.io is forbidden: User ".*" cannot list resource "pods" in API group "metrics.k8s.io" in the namespace "shop"$/,
      ],
      ['namespaces/shop/pods/web-a', 'nobody', /^pods.metrics.k8s.io "web-a" is forbidden: User ".*" cannot get /],
      ['namespaces/shop-2', 'alice', /in the namespace "shop-2"$/],
      ['namespaces/shop-2/pods/web-a', 'alice', /in the namespace "shop-2"$/],
      ['namespaces/shop/pods/web-b', 'bob', /cannot get resource "pods"/],
      ['namespaces/shop', 'bob', /cannot list resource "pods"/],
      ['namespaces/shop', 'carol', /cannot list resource "pods"/],
      ['namespaces/shop/statefulsets/web', 'alice', /cannot get resource "statefulsets" in API group "apps"/],
      ['nodes', 'alice', /cannot list resource "nodes".* at the cluster scope$/],
      ['nodes/one', 'carol', /cannot get resource "nodes"/],
    ];
    for (const [path, person, words] of refusals) {
      const { status, body } = await get(path, person);
      expect(status, path).to.equal(403);
      expect(body.message, path).to.match(words);
    }
    expect(await figures('namespaces/shop/pods/web-a', 'bob')).to.include({ count: 1 });
    expect((await server.request('/api/v2/usage/nodes')).status).to.equal(401);
    expect((await server.request('/api/v2/usage/nodes', { token: 'bad' })).status).to.equal(401);
  });

  it('is 404 for a workload that does not exist, and for names and kinds that cannot', async () => {
    expect(await get('namespaces/shop/deployments/none')).to.nested.include({
      status: 404,
      'body.message': 'deployments.apps "none" not found',
    });
    for (const path of ['namespaces/shop/secrets/web', 'namespaces/shop/pods/a"b', 'namespaces/shop%2F..', 'nodes/A'])
      expect((await get(path, 'admin')).status, path).to.equal(404);
  });

  it('offers no longer range without Prometheus, and says which setting gives one', async () => {
    const { status, body } = await get('namespaces/shop?range=6h');
    expect(status).to.equal(400);
    expect(body.message).to.contain('console.metrics.prometheus is not set');
    expect(body.details?.causes?.[0]?.field).to.equal('range');
    expect((await get('namespaces/shop?range=2h')).status).to.equal(400);
  });

  it('asks metrics-server with the account of the service alone, however many callers look', async () => {
    const before = metricsServer.between.received.length;
    for (let index = 0; index < 20; index += 1) await get('namespaces/shop');
    expect(metricsServer.between.received.length).to.be.at.most(before + 2);
    for (const { headers } of metricsServer.between.received) {
      const [, claims = ''] = headers.authorization?.split('.') ?? [];
      expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).to.include({ sub: 'system:serviceaccount:atrium-system:atrium' });
    }
  });
});

describe('usage without metrics', () => {
  const absent = new MetricsServer();
  const server = forSuite(() =>
    startServer({ config: { console: { metrics: { lastHour: true } } }, objects, between: absent.between.start }),
  );
  const reasonWith = async (answer: MetricsServer['answer'], reason: string) => {
    absent.answer = answer;
    const { url, metricsURL, stop } = await server.replica();
    const { body } = await eventually(
      async () => {
        const response = await server.request('/api/v2/usage/namespaces/shop', { as: 'alice', at: url });
        return { body: (await response.json()) as Answer };
      },
      ({ body: { unavailable } }) => unavailable !== undefined && unavailable.reason !== 'NotMeasuredYet',
    );
    expect(body.unavailable).to.include({ reason });
    expect(body.points).to.deep.equal([]);
    const ready = await fetch(`${metricsURL}/readyz?verbose`);
    expect(ready.status).to.equal(200);
    expect(await ready.text()).to.match(/usage/);
    await stop();
  };
  const status =
    (code: number, reason: string, message: string, details = {}) =>
    (response: import('node:http').ServerResponse) => {
      response.statusCode = code;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message, details }));
    };

  it('says that the cluster does not serve them', () =>
    reasonWith((response) => {
      response.statusCode = 404;
      response.end('404 page not found\n');
    }, 'NotInstalled'));

  it('says that the account of the service has no right to them', () =>
    reasonWith(
      status(
        403,
        'Forbidden',
        'pods.metrics.k8s.io is forbidden: User "x" cannot list resource "pods" in API group "metrics.k8s.io" at the cluster scope',
      ),
      'RightsMissing',
    ));

  it('says that they are out of reach, with a failure, with another body and with one that is too long', async () => {
    await reasonWith(status(503, 'ServiceUnavailable', 'the server is currently unable to handle the request'), 'Unavailable');
    await reasonWith((response) => response.end('<html>'), 'Unavailable');
    await reasonWith((response) => {
      const part = Buffer.alloc(4 * 1024 * 1024, ' ');
      const more = () => {
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', more);
      more();
    }, 'Unavailable');
  });
});

describe('usage in an installation that keeps none', () => {
  const server = forSuite(() => startServer({ objects }));

  it('has no points, and says which settings keep it, to callers with the right alone', async () => {
    const { status, body } = await usageRequests(server)('namespaces/shop', 'admin');
    expect(status).to.equal(200);
    expect(body.points).to.deep.equal([]);
    expect(body.unavailable).to.deep.equal({
      reason: 'NotKept',
      message: 'usage is not kept: set console.metrics.lastHour or console.metrics.prometheus',
    });
    expect((await usageRequests(server)('namespaces/shop', 'nobody')).status).to.equal(403);
  });
});
