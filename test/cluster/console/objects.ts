import type { Manifest } from '../../support/cluster-admin.ts';

const namespace = 'shop';

const deployment = (name: string, image: string, replicas: number): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace, labels: { app: name, tier: 'front' } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }] } },
  },
  status: {
    replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    updatedReplicas: replicas,
    conditions: [
      {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
        lastTransitionTime: '2026-01-12T08:30:00Z',
      },
    ],
  },
});

const pod = (name: string, phase: 'Running' | 'Pending' | 'Failed', restartCount = 0): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'registry.example.com/web:1.4' }] },
  status: {
    phase,
    conditions: [{ type: 'Ready', status: phase === 'Running' ? 'True' : 'False', lastTransitionTime: '2026-01-12T08:30:00Z' }],
    ...(phase === 'Running' && {
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          restartCount,
          image: 'registry.example.com/web:1.4',
          imageID: 'none',
          state: { running: { startedAt: '2026-01-12T08:30:00Z' } },
        },
      ],
    }),
  },
});

/** Workloads of a small shop. */
export const clusterObjects: readonly Manifest[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  deployment('web', 'registry.example.com/web:1.4', 3),
  deployment('cart', 'registry.example.com/cart:0.9', 2),
  pod('web-0', 'Running'),
  pod('web-1', 'Running', 4),
  pod('web-2', 'Pending'),
  pod('report-27', 'Failed'),
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace, labels: { app: 'web' } },
    data: { currency: 'EUR', theme: 'calm' },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'payment', namespace }, stringData: { token: 'very-secret-value' } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web-2.1', namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web-2', namespace },
    type: 'Warning',
    reason: 'FailedScheduling',
    message: '0/1 nodes are available: 1 Insufficient memory.',
    count: 3,
    firstTimestamp: '2026-01-12T08:30:00Z',
    lastTimestamp: '2026-01-12T08:34:00Z',
  },
];
