import { request } from 'node:http';
import { expect } from 'chai';
import { aBinding, aNamespace, aRole } from '../../service/access/objects.ts';
import { ApiServerBetween } from '../../service/proxy/api-server-between.ts';
import type { Person } from '../../support/api-server.ts';
import type { ClusterAdmin } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { Prometheus } from './prometheus.ts';
import { hour, samplesOf } from './samples.ts';

const isReal = process.env.TEST_CLUSTER === 'real';
/** kube-apiserver refuses endpoints of loopback; `npm run test:prometheus` gives the machine this address. */
const address = isReal ? '192.0.2.90' : '127.0.0.1';
const servicePath = '/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/';

const now = Math.floor(Date.now() / 60_000) * 60;
const daysAgo = (days: number) => now - days * 24 * hour;
const web = 'web-6d5f9c7b8d-x7k2p';
const young = 'web-6d5f9c7b8d-m2c4q';
const youngSince = now - 2.5 * hour;
const samples = samplesOf(
  {
    containers: [
      { pod: web, container: 'web', cpu: (time) => (time < daysAgo(2) ? 1.25 : 0.25), memory: 1000 },
      { pod: web, container: 'sidecar', cpu: 0.5, memory: 200 },
      // The cgroup of the pod, and its pause container.
      { pod: web, container: '', cpu: 16, memory: 1_000_000 },
      { pod: web, container: 'POD', cpu: 16, memory: 1_000_000 },
      { pod: young, container: 'web', cpu: 0.125, memory: 30, since: youngSince },
      { pod: 'web-admin-5c9d7f6b84-z8w2z', container: 'admin', cpu: 2, memory: 4000 },
      { pod: 'db-0', container: 'db', cpu: 1, memory: 50_000 },
      { pod: 'backup-29403360-x7k2p', container: 'backup', cpu: 4, memory: 600_000 },
      { namespace: 'shop-2', pod: web, container: 'web', cpu: 32, memory: 7_000_000 },
    ],
    roots: [{ node: 'one' }, { instance: 'two' }],
    machines: ['three'],
  },
  { end: now, isDown: (time) => time > now - 4.5 * hour && time < now - 3.5 * hour },
);

/** Makes a Service whose one pod has the address of the program. */
async function serve(kubernetes: ClusterAdmin, { port }: Prometheus): Promise<void> {
  const metadata = { name: 'prometheus', namespace: 'monitoring' };
  const pod = { kind: 'Pod', ...metadata };
  const spec = { containers: [{ name: 'prometheus', image: 'prometheus:2' }] };
  await kubernetes.apply(
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'http', port: 9090 }] } },
    { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }] } },
  );
  const subsets = [{ addresses: [{ ip: address, targetRef: pod }], ports: [{ name: 'http', port }] }];
  const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets };
  const { status, body } = await kubernetes.call('POST', '/api/v1/namespaces/monitoring/endpoints', endpoints);
  expect(status, JSON.stringify(body)).to.equal(201);
}

/** Sends the queries of the embedded cluster, which has no service proxy, to the program. */
function proxyTo({ url }: Prometheus): ApiServerBetween {
  const between = new ApiServerBetween(servicePath);
  between.handle = (asked, response) => {
    const call = request(`${url}/${asked.url?.slice(servicePath.length)}`, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    call.on('error', () => response.destroy());
    call.end();
  };
  return between;
}

interface Answer {
  message?: string;
  source?: string;
  stepSeconds?: number;
  points?: { time: string; count: number | null; cpu: number | null; memory: number | null }[];
}

describe('usage from a real Prometheus', () => {
  const prometheus = forSuite(() => Prometheus.start(samples, address));
  const server = forSuite(async () => {
    const rule = (service: string) => ({ apiGroups: [''], resources: ['services/proxy'], resourceNames: [service], verbs: ['get'] });
    const started = await startServer({
      config: { console: { metrics: { prometheus: 'monitoring/prometheus:9090' } } },
      objects: [
        aNamespace('monitoring'),
        aNamespace('shop'),
        aRole('prometheus', [rule('prometheus:9090')], 'monitoring'),
        aBinding('alice-prometheus', { role: 'prometheus', roleKind: 'Role', to: 'User:alice', namespace: 'monitoring' }),
        aRole('other-service', [rule('alertmanager:9090')], 'monitoring'),
        aBinding('bob-other', { role: 'other-service', roleKind: 'Role', to: 'User:bob', namespace: 'monitoring' }),
      ],
      ...(!isReal && { between: proxyTo(prometheus).start }),
    });
    if (isReal) await serve(started.kubernetes, prometheus);
    return started;
  });
  const get = async (path: string, as: Person = 'alice') => {
    const response = await server.request(`/api/v2/usage/${path}`, { as });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  /** Returns the points of a range by their age, the last point of at least that many hours. */
  const pointsOf = async (path: string) => {
    const { status, body } = await get(path);
    expect(status, body.message).to.equal(200);
    expect(body).to.include({ source: 'prometheus' });
    return (hours: number) => {
      const { count, cpu, memory } = body.points?.findLast(({ time }) => Date.parse(time) / 1000 <= now - hours * hour) ?? {};
      return { count, cpu, memory };
    };
  };

  it('adds up the containers of a pod, without its cgroup and its pause container', async () => {
    const at = await pointsOf(`namespaces/shop/pods/${web}?range=6h`);
    expect(at(1)).to.deep.equal({ count: 1, cpu: 0.75, memory: 1200 });
    expect(at(5.5)).to.deep.equal({ count: 1, cpu: 0.75, memory: 1200 });
  });

  it('tells a time before the pod from a time without samples', async () => {
    const at = await pointsOf(`namespaces/shop/pods/${young}?range=6h`);
    expect(at(1)).to.deep.equal({ count: 1, cpu: 0.125, memory: 30 });
    expect(at(3)).to.deep.equal({ count: 0, cpu: null, memory: null });
    expect(at(4)).to.deep.equal({ count: null, cpu: null, memory: null });
  });

  it('finds the pods of this workload alone by their names', async () => {
    const deployment = await pointsOf('namespaces/shop/deployments/web?range=6h');
    expect(deployment(1)).to.deep.equal({ count: 2, cpu: 0.875, memory: 1230 });
    expect(deployment(3)).to.deep.equal({ count: 1, cpu: 0.75, memory: 1200 });
    expect((await pointsOf('namespaces/shop/replicasets/web-6d5f9c7b8d?range=6h'))(1)).to.deep.equal(deployment(1));
    expect((await pointsOf('namespaces/shop/statefulsets/db?range=6h'))(1)).to.deep.equal({ count: 1, cpu: 1, memory: 50_000 });
    for (const path of ['jobs/backup-29403360', 'cronjobs/backup'])
      expect((await pointsOf(`namespaces/shop/${path}?range=6h`))(1)).to.deep.equal({ count: 1, cpu: 4, memory: 600_000 });
    expect((await pointsOf('namespaces/shop/daemonsets/web?range=6h'))(1)).to.deep.equal({ count: 0, cpu: null, memory: null });
  });

  it('adds up the pods of a namespace for an hour, a day and a week', async () => {
    const all = { count: 5, cpu: 7.875, memory: 655_230 };
    expect((await pointsOf('namespaces/shop?range=1h'))(0.5)).to.deep.equal(all);
    expect((await pointsOf('namespaces/shop?range=1d'))(1)).to.deep.equal(all);
    const week = await pointsOf('namespaces/shop?range=7d');
    expect(week(30)).to.deep.equal({ count: 4, cpu: 7.75, memory: 655_200 });
    expect(week(6 * 24)).to.deep.equal({ count: 4, cpu: 8.75, memory: 655_200 });
    expect((await get('namespaces/shop?range=7d')).body.stepSeconds).to.equal(3600);
  });

  it('has nodes by the root cgroup, by either label, or else by node_exporter', async () => {
    for (const name of ['one', 'two'])
      expect((await pointsOf(`nodes/${name}?range=6h`))(1), name).to.deep.equal({ count: 1, cpu: 2, memory: 4096 });
    expect((await pointsOf('nodes/three?range=6h'))(1)).to.deep.equal({ count: 1, cpu: 0.75, memory: 3000 });
    expect((await pointsOf('nodes?range=6h'))(1)).to.deep.equal({ count: 2, cpu: 4, memory: 8192 });
    expect((await pointsOf('nodes/none?range=6h'))(1)).to.deep.equal({ count: null, cpu: null, memory: null });
  });

  it('is refused to callers without the service proxy of this Service', async () => {
    for (const person of ['bob', 'nobody'] as const) {
      const { status, body } = await get('namespaces/shop?range=6h', person);
      expect(status, person).to.equal(403);
      expect(body.message, person).to.contain('services "prometheus:9090" is forbidden').and.contain('"services/proxy"');
    }
  });
});
