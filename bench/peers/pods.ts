import { z } from 'zod';
import type { ClusterAdmin } from '../../test/support/cluster-admin.ts';
import { base64, etcd } from './users.ts';

const perNamespace = 250;
const atOnce = 50;
const digits = (index: number, length: number) => String(index).padStart(length, '0');
/** Replaced in the copies of the pod. Replacements have the same length, because etcd has protobuf. */
const pattern = { name: 'storefront-7d9f8c6b54-99999', namespace: 'team-99', node: 'node-99' };

export const podName = (index: number): string => `storefront-7d9f8c6b54-${digits(index, 5)}`;
export const podNamespace = (index: number): string => `team-${digits(Math.floor(index / perNamespace), 2)}`;

/** Fills the cluster with running pods without owners. The API server creates one; the others are copies of its value in etcd. */
export async function fillPods(admin: ClusterAdmin, etcdURL: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += perNamespace) await admin.apply(aNamespace(podNamespace(index)));
  await admin.apply(aNamespace(pattern.namespace));
  const path = `/api/v1/namespaces/${pattern.namespace}/pods`;
  const { body } = await admin.call('POST', path, aPod());
  const { uid } = z.object({ metadata: z.object({ uid: z.string() }) }).parse(body).metadata;
  await admin.call('PATCH', `${path}/${pattern.name}/status`, { status: running() }, { 'content-type': 'application/merge-patch+json' });
  const key = (name: string, namespace: string) => base64(`/registry/pods/${namespace}/${name}`);
  const { kvs } = z
    .object({ kvs: z.array(z.object({ value: z.string() })) })
    .parse(await etcd(etcdURL, 'range', { key: key(pattern.name, pattern.namespace) }));
  const kept = Buffer.from(kvs[0]?.value ?? '', 'base64').toString('latin1');
  await admin.remove(`${path}/${pattern.name}?gracePeriodSeconds=0`);
  const copy = (index: number) => {
    const value = kept
      .replaceAll(pattern.name, podName(index))
      .replaceAll(pattern.namespace, podNamespace(index))
      .replaceAll(pattern.node, `node-${digits(index % 50, 2)}`)
      .replaceAll(uid, uid.slice(0, -12) + digits(index, 12));
    return { requestPut: { key: key(podName(index), podNamespace(index)), value: Buffer.from(value, 'latin1').toString('base64') } };
  };
  const put = (from: number, to: number) =>
    etcd(etcdURL, 'txn', { success: Array.from({ length: to - from }, (_, step) => copy(from + step)) });
  for (let index = 0; index < count - 1; index += atOnce) await put(index, Math.min(index + atOnce, count - 1));
  // Like with users, the last put is alone, so that no pod is missing at its revision.
  await put(count - 1, count);
}

const aNamespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const aPod = () => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: pattern.name,
    namespace: pattern.namespace,
    labels: { app: 'storefront', tier: 'web', 'pod-template-hash': '7d9f8c6b54' },
  },
  spec: {
    nodeName: pattern.node,
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'web',
        image: 'registry.example.com/shop/storefront:1.14.2',
        ports: [{ name: 'http', containerPort: 8080 }],
        env: ['CURRENCY', 'CATALOG', 'LOG_LEVEL'].map((name) => ({ name, value: 'a value of usual length' })),
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        readinessProbe: { httpGet: { path: '/ready', port: 8080 } },
      },
    ],
  },
});

function running() {
  const since = new Date().toISOString().replace(/\.\d+/, '');
  return {
    phase: 'Running',
    podIP: '10.1.2.3',
    hostIP: '192.0.2.7',
    startTime: since,
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      ...{ type, status: 'True', lastTransitionTime: since },
    })),
    containerStatuses: [
      {
        ...{ name: 'web', ready: true, started: true, restartCount: 0, image: 'registry.example.com/shop/storefront:1.14.2' },
        ...{ imageID: 'sha256:1f', state: { running: { startedAt: since } } },
      },
    ],
  };
}
