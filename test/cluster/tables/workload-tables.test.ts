import type { StoredObject } from '@atrium/embedded-cluster/objects.ts';
import { columnsByKind } from '@atrium/embedded-cluster/workloads/columns.ts';
import { expect } from 'chai';
import { connect, type KubernetesObject } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const time = '2026-01-02T03:04:05Z';
const ended = (exitCode: number, reason: string) => ({ exitCode, reason, startedAt: time, finishedAt: time });
const status = (name: string, state: object, more: object = {}) => ({
  ...{ name, image: 'x', imageID: '', ready: false, restartCount: 0, lastState: {}, state, ...more },
});
const running = { running: { startedAt: time } };
const ready = [{ type: 'Ready', status: 'True' }];

/** Statuses of pods of the containers `a` and `b`. */
const podStatuses: Readonly<Record<string, object>> = {
  pending: { phase: 'Pending' },
  running: {
    phase: 'Running',
    conditions: ready,
    containerStatuses: [status('a', running, { ready: true }), status('b', running, { ready: true })],
  },
  crashing: {
    phase: 'Running',
    containerStatuses: [
      status('a', running, { ready: true }),
      status('b', { waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 4, lastState: { terminated: ended(137, 'OOMKilled') } }),
    ],
  },
  pulling: {
    phase: 'Pending',
    podIP: '10.0.0.3',
    containerStatuses: [status('a', { waiting: { reason: 'ImagePullBackOff' } }), status('b', running)],
  },
  done: {
    phase: 'Succeeded',
    containerStatuses: [status('a', { terminated: ended(0, 'Completed') }), status('b', { terminated: ended(0, 'Completed') })],
  },
  half: {
    phase: 'Running',
    conditions: ready,
    containerStatuses: [status('a', { terminated: ended(0, 'Completed') }), status('b', running, { ready: true })],
  },
  silent: {
    phase: 'Failed',
    containerStatuses: [status('a', { terminated: ended(3, '') }), status('b', { terminated: ended(2, 'Error') })],
  },
  evicted: { phase: 'Failed', reason: 'Evicted' },
};

const containers = ['a', 'b'].map((name) => ({ name, image: `registry.example.com/${name}:1` }));
const workload = {
  metadata: { name: 'web' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web', tier: 'front' } },
    template: { metadata: { labels: { app: 'web', tier: 'front' } }, spec: { containers } },
  },
};

describe('Tables of workloads', () => {
  const server = forSuite(() => apiServer());
  const admin = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );

  async function written(path: string, body: object, is: object): Promise<KubernetesObject> {
    const made = await admin.create(path, body);
    const answer = await admin.patch(`${path}/${made.metadata.name}/status`, { status: is });
    expect(answer.status, answer.text).to.equal(200);
    return admin.read(`${path}/${made.metadata.name}`);
  }

  /** Compares headings and cells of `kubectl get -o wide`, as the API server and the columns of the embedded cluster have them. */
  async function compare(path: string, object: KubernetesObject): Promise<void> {
    const answer = await admin.send('GET', `${path}/${object.metadata.name}`, { headers: { accept: table } });
    const { columnDefinitions, rows } = answer.body as {
      columnDefinitions: { name: string; type: string; priority: number }[];
      rows: { cells: unknown[] }[];
    };
    const columns = columnsByKind[object.kind] ?? [];
    const now = new Date();
    expect(columns.map(({ name, type, priority }) => ({ name, type, priority }))).to.deep.equal(
      columnDefinitions.map(({ name, type, priority }) => ({ name, type, priority })),
    );
    const shown = (cells: readonly unknown[]) => cells.filter((_, index) => columns[index]?.name !== 'Age');
    expect(shown(columns.map(({ cell }) => cell(object as StoredObject, now)))).to.deep.equal(shown(rows[0]?.cells ?? []));
  }

  it('shows pods in each state as the API server does', async () => {
    const path = '/api/v1/namespaces/default/pods';
    for (const [name, is] of Object.entries(podStatuses))
      await compare(path, await written(path, { metadata: { name }, spec: { containers } }, is));
  });

  it('shows nodes, Deployments, ReplicaSets and Services as the API server does', async () => {
    const counts = { replicas: 3, readyReplicas: 2, availableReplicas: 2 };
    const nodeInfo = { kubeletVersion: 'v1.36.3', osImage: 'Debian', kernelVersion: '6.12', containerRuntimeVersion: 'containerd://2' };
    const empty = { machineID: '', systemUUID: '', bootID: '', kubeProxyVersion: '', operatingSystem: '', architecture: '' };
    const node = { metadata: { name: 'worker', labels: { 'node-role.kubernetes.io/worker': '' } }, spec: { unschedulable: true } };
    const objects: [path: string, body: object, status: object][] = [
      [
        '/api/v1/nodes',
        node,
        { conditions: ready, nodeInfo: { ...empty, ...nodeInfo }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
      ],
      ['/apis/apps/v1/namespaces/default/deployments', workload, { ...counts, updatedReplicas: 1 }],
      ['/apis/apps/v1/namespaces/default/replicasets', { ...workload, metadata: { name: 'set' } }, counts],
      [
        '/api/v1/namespaces/default/services',
        {
          metadata: { name: 'web' },
          spec: {
            selector: { app: 'web' },
            ports: [
              { name: 'a', port: 80 },
              { name: 'b', port: 53, protocol: 'UDP' },
            ],
          },
        },
        {},
      ],
    ];
    for (const [path, body, is] of objects) await compare(path, await written(path, body, is));
  });
});
