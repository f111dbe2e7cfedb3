import { connect } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { compareTables, written } from './compare-tables.ts';

const time = '2026-01-02T03:04:05Z';
const ended = (exitCode: number, reason: string) => ({ exitCode, reason, startedAt: time, finishedAt: time });
const status = (name: string, state: object, more: object = {}) => ({
  ...{ name, image: 'x', imageID: '', ready: false, restartCount: 0, lastState: {}, state, ...more },
});
const running = { running: { startedAt: time } };
const done = { terminated: ended(0, 'Completed') };
const waitingFrom = (...names: string[]) => names.map((name) => status(name, { waiting: { reason: 'PodInitializing' } }));
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

/** Statuses of init containers: `fetch`, the sidecar `proxy`, and `migrate`. */
const initStates: Readonly<Record<string, object>> = {
  'init-first': { phase: 'Pending', initContainerStatuses: [status('fetch', running), ...waitingFrom('proxy', 'migrate')] },
  'init-sidecar': {
    phase: 'Pending',
    initContainerStatuses: [status('fetch', done), status('proxy', running, { started: true, ready: true }), ...waitingFrom('migrate')],
  },
  'init-failed': {
    phase: 'Pending',
    initContainerStatuses: [status('fetch', { terminated: ended(2, 'Error') }), ...waitingFrom('proxy', 'migrate')],
  },
  'init-silent': { phase: 'Failed', initContainerStatuses: [status('fetch', { terminated: ended(2, '') })] },
  'init-crashing': {
    phase: 'Pending',
    initContainerStatuses: [
      status('fetch', { waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 3, lastState: { terminated: ended(2, 'Error') } }),
    ],
  },
  'init-over': {
    phase: 'Running',
    conditions: [...ready, { type: 'Initialized', status: 'True' }],
    initContainerStatuses: [
      status('fetch', done, { restartCount: 2 }),
      status('proxy', running, { started: true, ready: true, restartCount: 1, lastState: { terminated: ended(1, 'Error') } }),
      status('migrate', done),
    ],
    containerStatuses: [status('a', running, { ready: true }), status('b', running, { ready: true })],
  },
  'half-failed': {
    phase: 'Running',
    containerStatuses: [status('a', { terminated: ended(0, 'Completed') }), status('b', { terminated: ended(2, 'Error') })],
  },
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

describe('the Table of a workload', () => {
  const server = forSuite(() => apiServer());
  const admin = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );

  it('shows pods in each state as the API server does', async () => {
    const path = '/api/v1/namespaces/default/pods';
    for (const [name, is] of Object.entries(podStatuses))
      await compareTables(admin, path, await written(admin, path, { metadata: { name }, spec: { containers } }, is));
  });

  it('shows pods whose init containers are in each state as the API server does', async () => {
    const path = '/api/v1/namespaces/default/pods';
    const initContainers = ['fetch', 'proxy', 'migrate'].map((name) => ({
      ...{ name, image: `registry.example.com/${name}:1` },
      ...(name === 'proxy' && { restartPolicy: 'Always' }),
    }));
    for (const [name, is] of Object.entries(initStates))
      await compareTables(admin, path, await written(admin, path, { metadata: { name }, spec: { initContainers, containers } }, is));
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
      ['/api/v1/nodes', { metadata: { name: 'silent' }, spec: { unschedulable: true } }, { nodeInfo: { ...empty, ...nodeInfo } }],
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
    for (const [path, body, is] of objects) await compareTables(admin, path, await written(admin, path, body, is));
  });
});
