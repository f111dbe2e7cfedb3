/** Objects with the facts that `kubectl describe` and the pages of the console both state. */
import type { Manifest } from '../../support/cluster-admin.ts';

const namespace = 'described';
const time = '2026-01-12T08:30:00Z';
const labels = { app: 'described' };
const image = 'registry.example.com/main:1.4';
const metadata = (name: string, more: object = {}) => ({ name, namespace, labels, ...more });
const running = { running: { startedAt: time } };
const killed = { terminated: { exitCode: 137, reason: 'OOMKilled', startedAt: time, finishedAt: time } };
const statusOf = (name: string, state: object, more: object = {}) => ({
  ...{ name, image, imageID: `registry.example.com/main@sha256:${'a'.repeat(64)}`, ready: false, restartCount: 0, state, ...more },
});

const pod = (name: string, spec: object, status: object, more: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: metadata(name, more),
  spec: { containers: [{ name: 'main', image }], ...spec },
  status,
});

const template = (restartPolicy = 'Always', spec: object = {}) => ({
  metadata: { labels },
  spec: { restartPolicy, serviceAccountName: 'runner', containers: [{ name: 'main', image, ports: [{ containerPort: 8080 }] }], ...spec },
});

const pods: Manifest[] = [
  pod(
    'rich',
    {
      nodeName: 'described-1',
      nodeSelector: { disk: 'ssd' },
      serviceAccountName: 'default',
      tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
      initContainers: [{ name: 'prepare', image, command: ['sh', '-c', 'true'] }],
      containers: [
        {
          ...{ name: 'main', image, command: ['serve'], args: ['--port', '8080'], ports: [{ name: 'http', containerPort: 8080 }] },
          resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } },
          livenessProbe: { httpGet: { path: '/livez', port: 8080 }, initialDelaySeconds: 5, periodSeconds: 20 },
          readinessProbe: { tcpSocket: { port: 8080 } },
          env: [
            { name: 'COLOUR', value: 'blue' },
            { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'token', key: 'value', optional: true } } },
          ],
          envFrom: [{ configMapRef: { name: 'settings', optional: true } }],
          volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true }],
        },
      ],
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'bound' } },
        { name: 'settings', configMap: { name: 'settings', optional: true } },
        { name: 'scratch', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } },
      ],
    },
    {
      ...{ phase: 'Running', podIP: '10.0.0.7', podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }], hostIP: '192.168.0.4', startTime: time },
      qosClass: 'Burstable',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: time,
      })),
      initContainerStatuses: [
        statusOf('prepare', { terminated: { exitCode: 0, reason: 'Completed', startedAt: time, finishedAt: time } }, { ready: true }),
      ],
      containerStatuses: [statusOf('main', running, { ready: true, started: true, restartCount: 3, lastState: killed })],
    },
    { annotations: { 'example.com/owner': 'shop' } },
  ),
  pod(
    'evicted',
    { nodeName: 'described-1' },
    { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.', startTime: time },
  ),
  pod(
    'pending',
    { priorityClassName: 'system-node-critical' },
    {
      phase: 'Pending',
      nominatedNodeName: 'described-1',
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available.', lastTransitionTime: time },
      ],
    },
  ),
  pod(
    'crashing',
    { nodeName: 'described-1', activeDeadlineSeconds: 600, runtimeClassName: undefined },
    {
      phase: 'Running',
      startTime: time,
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: time }],
      containerStatuses: [
        statusOf(
          'main',
          { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting' } },
          { restartCount: 12, lastState: killed },
        ),
      ],
    },
  ),
];

const deployment = (name: string, spec: object, status: object, more: object = {}): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: metadata(name, more),
  spec: { replicas: 3, selector: { matchLabels: labels }, template: template(), ...spec },
  status,
});
const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: 'm',
  lastTransitionTime: time,
  lastUpdateTime: time,
});

const deployments: Manifest[] = [
  deployment(
    'rolling',
    { minReadySeconds: 7, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '50%', maxUnavailable: 1 } } },
    {
      ...{ replicas: 4, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 3, unavailableReplicas: 1 },
      conditions: [condition('Available', 'True', 'MinimumReplicasAvailable'), condition('Progressing', 'True', 'ReplicaSetUpdated')],
    },
    { annotations: { 'deployment.kubernetes.io/revision': '4' } },
  ),
  deployment(
    'recreated',
    { replicas: 1, paused: true, strategy: { type: 'Recreate' } },
    { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 },
  ),
  deployment(
    'stuck',
    { progressDeadlineSeconds: 60 },
    {
      ...{ replicas: 3, updatedReplicas: 1, unavailableReplicas: 3 },
      conditions: [
        condition('Available', 'False', 'MinimumReplicasUnavailable'),
        condition('Progressing', 'False', 'ProgressDeadlineExceeded'),
      ],
    },
  ),
];

const nodes: Manifest[] = [
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'described-1', labels: { 'node-role.kubernetes.io/worker': '', 'topology.kubernetes.io/zone': 'a' } },
    spec: {
      podCIDR: '10.244.1.0/24',
      podCIDRs: ['10.244.1.0/24'],
      providerID: 'example:///1',
      unschedulable: true,
      taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }],
    },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '3920m', memory: '15Gi', pods: '110', 'ephemeral-storage': '90Gi' },
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'kubelet is posting ready status',
          lastHeartbeatTime: time,
          lastTransitionTime: time,
        },
        {
          type: 'MemoryPressure',
          status: 'False',
          reason: 'KubeletHasSufficientMemory',
          message: 'm',
          lastHeartbeatTime: time,
          lastTransitionTime: time,
        },
      ],
      addresses: [
        { type: 'InternalIP', address: '192.168.0.4' },
        { type: 'Hostname', address: 'machine-4' },
      ],
      nodeInfo: {
        ...{
          machineID: 'm',
          systemUUID: 'u',
          bootID: 'b',
          kernelVersion: '6.8.0-45',
          osImage: 'Ubuntu 24.04',
          containerRuntimeVersion: 'containerd://2.0.1',
        },
        ...{ kubeletVersion: 'v1.36.3', kubeProxyVersion: '', operatingSystem: 'linux', architecture: 'arm64' },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'described-2', labels: { 'kubernetes.io/role': 'infra', 'node-role.kubernetes.io/control-plane': '' } },
    status: {
      conditions: [
        { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'm', lastHeartbeatTime: time, lastTransitionTime: time },
      ],
    },
  },
];

const job = (name: string, spec: object, status: object, more: object = {}): Manifest => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: metadata(name, more),
  spec: { suspend: true, template: template('Never'), ...spec },
  status,
});

const jobs: Manifest[] = [
  job(
    'counted',
    {
      completions: 5,
      parallelism: 2,
      completionMode: 'Indexed',
      backoffLimit: 4,
      activeDeadlineSeconds: 600,
      ttlSecondsAfterFinished: 100,
    },
    {
      ...{ startTime: time, active: 1, ready: 1, succeeded: 2, failed: 1, completedIndexes: '0-1', failedIndexes: undefined },
    },
  ),
  job('suspended', {}, { conditions: [{ ...condition('Suspended', 'True', 'JobSuspended'), lastProbeTime: time }] }),
  job('queue', { parallelism: 3, suspend: false }, {}),
];

const cronJob = (name: string, spec: object, status: object = {}): Manifest => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: metadata(name),
  spec: { schedule: '*/15 3 * * *', jobTemplate: { spec: { template: template('OnFailure') } }, suspend: true, ...spec },
  status,
});

const cronJobs: Manifest[] = [
  cronJob(
    'zoned',
    {
      timeZone: 'Europe/Berlin',
      concurrencyPolicy: 'Forbid',
      startingDeadlineSeconds: 90,
      successfulJobsHistoryLimit: 5,
      failedJobsHistoryLimit: 0,
    },
    {
      lastScheduleTime: time,
      lastSuccessfulTime: time,
      active: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'zoned-1', namespace, uid: 'u-1' }],
    },
  ),
  cronJob('plain', { jobTemplate: { spec: { parallelism: 2, completions: 4, backoffLimit: 1, template: template('Never') } } }),
  cronJob('replacing', { concurrencyPolicy: 'Replace', schedule: '@daily' }),
];

const claim = (name: string, spec: object, status: object, more: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: metadata(name, more),
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '8Gi' } }, ...spec },
  status,
});

const claims: Manifest[] = [
  claim(
    'bound',
    { storageClassName: 'fast', volumeName: 'pv-1', volumeMode: 'Filesystem' },
    { phase: 'Bound', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], capacity: { storage: '10Gi' } },
  ),
  claim(
    'waiting',
    { storageClassName: 'slow', volumeMode: 'Block', accessModes: ['ReadWriteMany', 'ReadWriteOncePod'].slice(0, 1) },
    { phase: 'Pending' },
  ),
  claim(
    'growing',
    { storageClassName: 'fast', volumeName: 'pv-2' },
    {
      phase: 'Bound',
      accessModes: ['ReadWriteMany'],
      capacity: { storage: '8Gi' },
      conditions: [
        { type: 'FileSystemResizePending', status: 'True', message: 'Waiting for a pod', lastProbeTime: time, lastTransitionTime: time },
      ],
    },
  ),
  claim('copied', { storageClassName: 'fast', dataSource: { kind: 'PersistentVolumeClaim', name: 'bound' } }, { phase: 'Lost' }),
];

const service = (name: string, spec: object, status: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata(name),
  spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 8080 }], ...spec },
  status,
});

const services: Manifest[] = [
  service('plain', {
    ports: [
      { name: 'http', port: 80, targetPort: 'web' },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
    sessionAffinity: 'ClientIP',
  }),
  service('node-port', {
    type: 'NodePort',
    ports: [{ port: 443, targetPort: 8443, nodePort: 30443, appProtocol: 'https' }],
    externalTrafficPolicy: 'Local',
    externalIPs: ['203.0.113.9'],
  }),
  service(
    'balanced',
    { type: 'LoadBalancer', loadBalancerClass: 'example.com/lb', loadBalancerSourceRanges: ['10.0.0.0/8'] },
    { loadBalancer: { ingress: [{ ip: '198.51.100.4' }, { hostname: 'lb.example.com' }] } },
  ),
  service('headless', { clusterIP: 'None', publishNotReadyAddresses: true }),
  { apiVersion: 'v1', kind: 'Service', metadata: metadata('elsewhere'), spec: { type: 'ExternalName', externalName: 'db.example.com' } },
];

export const described: readonly Manifest[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } },
  ...[nodes, pods, deployments, jobs, cronJobs, claims, services].flat(),
];
