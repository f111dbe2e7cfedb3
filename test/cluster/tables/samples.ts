/** Objects of the kinds that the workloads of the embedded cluster add. */

/** Path of a collection, an object for it, and the status that is written afterwards. */
export type Sample = [path: string, body: object, status?: object];

const time = '2026-01-02T03:04:05Z';
const later = '2026-01-02T03:06:10Z';
const containers = ['a', 'b'].map((name) => ({ name, image: `registry.example.com/${name}:1` }));
const labels = { app: 'web', tier: 'front' };
const template = { metadata: { labels }, spec: { containers } };
const selector = { matchLabels: labels };
const jobSpec = { template: { spec: { restartPolicy: 'Never', containers } } };
const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: later, lastProbeTime: later });
const [apps, batch, networking] = ['apps/v1', 'batch/v1', 'networking.k8s.io/v1'].map((version) => `/apis/${version}/namespaces/default`);
const core = '/api/v1/namespaces/default';

const pods: Sample[] = [
  [
    `${core}/pods`,
    {
      metadata: { name: 'prepared' },
      spec: {
        serviceAccountName: 'web',
        initContainers: [
          { name: 'fetch', image: 'registry.example.com/fetch' },
          { name: 'proxy', image: 'registry.example.com/proxy:1', restartPolicy: 'Always', ports: [{ containerPort: 15001 }] },
        ],
        containers: [
          {
            ...{ name: 'web', image: 'registry.example.com/web@sha256:abc' },
            resources: { limits: { cpu: '500m', memory: '64Mi' } },
            env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
            readinessProbe: { httpGet: { port: 80 } },
            livenessProbe: { exec: { command: ['true'] }, periodSeconds: 5 },
          },
        ],
        volumes: [
          { name: 'config', configMap: { name: 'web' } },
          { name: 'keys', secret: { secretName: 'web' } },
          { name: 'scratch', emptyDir: {} },
        ],
      },
    },
  ],
];

const workloads: Sample[] = [
  [
    `${apps}/statefulsets`,
    { metadata: { name: 'db' }, spec: { serviceName: 'db', replicas: 3, selector, template } },
    { replicas: 3, readyReplicas: 2 },
  ],
  [
    `${apps}/daemonsets`,
    {
      metadata: { name: 'exporter' },
      spec: { selector, template: { ...template, spec: { containers, nodeSelector: { disk: 'fast', arch: 'arm' } } } },
    },
    {
      desiredNumberScheduled: 5,
      currentNumberScheduled: 4,
      numberReady: 3,
      updatedNumberScheduled: 2,
      numberAvailable: 1,
      numberMisscheduled: 0,
    },
  ],
  [`${apps}/daemonsets`, { metadata: { name: 'bare' }, spec: { selector, template } }],
  [`${apps}/controllerrevisions`, { metadata: { name: 'one' }, revision: 7, data: {} }],
  [
    `${apps}/controllerrevisions`,
    {
      metadata: {
        name: 'two',
        finalizers: ['example.com/kept'],
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'x', controller: true }],
      },
      ...{ revision: 8, data: {} },
    },
  ],
];

const jobs: Sample[] = [
  [`${batch}/jobs`, { metadata: { name: 'new' }, spec: jobSpec }],
  [
    `${batch}/jobs`,
    { metadata: { name: 'done' }, spec: { ...jobSpec, completions: 3, parallelism: 2 } },
    {
      succeeded: 3,
      startTime: time,
      completionTime: later,
      conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
      uncountedTerminatedPods: {},
    },
  ],
  [
    `${batch}/jobs`,
    { metadata: { name: 'failed' }, spec: jobSpec },
    { failed: 1, startTime: time, conditions: [condition('FailureTarget'), condition('Failed')], uncountedTerminatedPods: {} },
  ],
  [`${batch}/jobs`, { metadata: { name: 'suspended' }, spec: { ...jobSpec, suspend: true } }, { conditions: [condition('Suspended')] }],
  [
    `${batch}/jobs`,
    { metadata: { name: 'failing' }, spec: jobSpec },
    { startTime: time, active: 1, conditions: [condition('FailureTarget')] },
  ],
  [`${batch}/jobs`, { metadata: { name: 'queue' }, spec: { ...jobSpec, completions: null, parallelism: 3 } }],
  [`${batch}/cronjobs`, { metadata: { name: 'nightly' }, spec: { schedule: '0 3 * * *', jobTemplate: { spec: jobSpec } } }],
  [
    `${batch}/cronjobs`,
    {
      metadata: { name: 'berlin' },
      spec: { schedule: '0 3 * * *', timeZone: 'Europe/Berlin', suspend: true, jobTemplate: { spec: jobSpec } },
    },
    { lastScheduleTime: time, active: [{ kind: 'Job', name: 'x', namespace: 'default' }] },
  ],
];

const claim = { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], resources: { requests: { storage: '5Gi' } } };
const volume = { capacity: { storage: '5Gi' }, accessModes: ['ReadWriteMany'], hostPath: { path: '/data' } };
const storage: Sample[] = [
  [`${core}/persistentvolumeclaims`, { metadata: { name: 'waiting' }, spec: claim }],
  [
    `${core}/persistentvolumeclaims`,
    { metadata: { name: 'bound' }, spec: { ...claim, storageClassName: 'fast', volumeName: 'disk', volumeMode: 'Block' } },
    { phase: 'Bound', capacity: { storage: '10Gi' }, accessModes: claim.accessModes },
  ],
  [`/api/v1/persistentvolumes`, { metadata: { name: 'disk' }, spec: volume }],
  [
    '/api/v1/persistentvolumes',
    {
      metadata: { name: 'used' },
      spec: {
        ...volume,
        storageClassName: 'fast',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { namespace: 'default', name: 'bound' },
      },
    },
    { phase: 'Failed', reason: 'Recycle' },
  ],
  ['/apis/storage.k8s.io/v1/storageclasses', { metadata: { name: 'fast' }, provisioner: 'disk.example.com' }],
  [
    '/apis/storage.k8s.io/v1/storageclasses',
    {
      metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      ...{
        provisioner: 'disk.example.com',
        reclaimPolicy: 'Retain',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowVolumeExpansion: true,
      },
    },
  ],
];

const backend = { service: { name: 'web', port: { number: 80 } } };
const ruleOf = (host: string) => ({ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } });
const network: Sample[] = [
  [`${networking}/ingresses`, { metadata: { name: 'any' }, spec: { defaultBackend: backend } }],
  [
    `${networking}/ingresses`,
    {
      metadata: { name: 'shop' },
      spec: {
        ingressClassName: 'nginx',
        tls: [{ hosts: ['a.example.com'] }],
        rules: ['a', 'b', 'c', 'd'].map((name) => ruleOf(`${name}.example.com`)),
      },
    },
    { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb.example.com' }] } },
  ],
  ['/apis/networking.k8s.io/v1/ingressclasses', { metadata: { name: 'nginx' }, spec: { controller: 'example.com/nginx' } }],
  [
    '/apis/networking.k8s.io/v1/ingressclasses',
    {
      metadata: { name: 'traefik' },
      spec: { controller: 'example.com/t', parameters: { apiGroup: 'example.com', kind: 'Gateway', name: 'one', scope: 'Cluster' } },
    },
  ],
  [`${networking}/networkpolicies`, { metadata: { name: 'all' }, spec: { podSelector: {} } }],
  [
    `${networking}/networkpolicies`,
    {
      metadata: { name: 'web' },
      spec: {
        podSelector: {
          matchLabels: labels,
          matchExpressions: [
            { key: 'x', operator: 'In', values: ['1', '2'] },
            { key: 'y', operator: 'Exists' },
          ],
        },
      },
    },
  ],
  [`${core}/endpoints`, { metadata: { name: 'none' } }],
  [
    `${core}/endpoints`,
    {
      metadata: { name: 'web' },
      subsets: [{ addresses: ['1', '2', '3', '4'].map((end) => ({ ip: `10.0.0.${end}` })), ports: [{ port: 80 }] }],
    },
  ],
  [
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    { metadata: { name: 'empty' }, addressType: 'IPv4', endpoints: null, ports: null },
  ],
  [
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    {
      ...{ metadata: { name: 'web' }, addressType: 'IPv4' },
      ...{
        endpoints: ['1', '2', '3', '4'].map((end) => ({ addresses: [`10.0.0.${end}`] })),
        ports: [80, 81, 82, 83].map((port) => ({ name: `p${port}`, port })),
      },
    },
  ],
  [
    `${core}/services`,
    { metadata: { name: 'balanced' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
    { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } },
  ],
  [`${core}/services`, { metadata: { name: 'pending' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }],
  [`${core}/services`, { metadata: { name: 'alias' }, spec: { type: 'ExternalName', externalName: 'example.com' } }],
  [
    `${core}/services`,
    { metadata: { name: 'headless' }, spec: { clusterIP: 'None', selector: labels, externalIPs: ['192.0.2.9'], ports: [{ port: 80 }] } },
  ],
];

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const utilization = (name: string, averageUtilization: number) => ({
  type: 'Resource',
  resource: { name, target: { type: 'Utilization', averageUtilization } },
});
const current = (name: string, averageUtilization: number) => ({
  type: 'Resource',
  resource: { name, current: { averageUtilization, averageValue: '10m' } },
});
const [scaler, budget] = ['autoscaling/v2', 'policy/v1'].map((version) => `/apis/${version}/namespaces/default`);
const limits: Sample[] = [
  [`${scaler}/horizontalpodautoscalers`, { metadata: { name: 'new' }, spec: { scaleTargetRef, maxReplicas: 4 } }],
  [
    `${scaler}/horizontalpodautoscalers`,
    {
      metadata: { name: 'busy' },
      spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 4, metrics: [utilization('cpu', 80), utilization('memory', 70)] },
    },
    { currentReplicas: 2, desiredReplicas: 3, currentMetrics: [current('cpu', 45), current('memory', 60)], conditions: [] },
  ],
  [
    `${scaler}/horizontalpodautoscalers`,
    {
      metadata: { name: 'blind' },
      spec: {
        scaleTargetRef,
        maxReplicas: 4,
        metrics: [
          utilization('cpu', 80),
          { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '500Mi' } } },
        ],
      },
    },
  ],
  [`${budget}/poddisruptionbudgets`, { metadata: { name: 'least' }, spec: { minAvailable: 2, selector } }],
  [
    `${budget}/poddisruptionbudgets`,
    { metadata: { name: 'most' }, spec: { maxUnavailable: '25%', selector } },
    { disruptionsAllowed: 1, currentHealthy: 4, desiredHealthy: 3, expectedPods: 4 },
  ],
  ['/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'high' }, value: 1000 }],
  ['/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'low' }, value: -5, preemptionPolicy: 'Never', globalDefault: true }],
  [`${core}/resourcequotas`, { metadata: { name: 'new' }, spec: { hard: { pods: '4' } } }],
  [
    `${core}/resourcequotas`,
    { metadata: { name: 'quota' }, spec: { hard: { pods: '10', 'requests.cpu': '4', 'limits.memory': '8Gi', 'limits.cpu': '8' } } },
    {
      hard: { pods: '10', 'requests.cpu': '4', 'limits.memory': '8Gi', 'limits.cpu': '8' },
      used: { pods: '3', 'requests.cpu': '1500m', 'limits.memory': '2Gi', 'limits.cpu': '3' },
    },
  ],
  [`${core}/limitranges`, { metadata: { name: 'range' }, spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } }],
];

export const samples: Readonly<Record<string, readonly Sample[]>> = { pods, workloads, jobs, storage, network, limits };

const named = (spec: object) => ({ metadata: { name: 'bad' }, spec });
/** Objects that are refused. */
export const refused: readonly Sample[] = [
  [`${core}/pods`, named({ containers, ephemeralContainers: [{ name: 'debug', image: 'busybox' }] })],
  [`${apps}/statefulsets`, named({ serviceName: 'db', selector: { matchLabels: { app: 'other' } }, template })],
  [`${apps}/daemonsets`, named({ selector })],
  [`${batch}/jobs`, named({ template: { spec: { containers } } })],
  [`${batch}/cronjobs`, named({ schedule: 'daily', jobTemplate: { spec: jobSpec } })],
  [`${batch}/cronjobs`, named({ schedule: '0 3 * * *', timeZone: 'Mars/Base', jobTemplate: { spec: jobSpec } })],
  [`${batch}/cronjobs`, named({ jobTemplate: { spec: jobSpec } })],
  [`${core}/persistentvolumeclaims`, named({})],
  [`${networking}/ingresses`, named({})],
  [`${scaler}/horizontalpodautoscalers`, named({ scaleTargetRef, minReplicas: 3, maxReplicas: 2 })],
  [`${scaler}/horizontalpodautoscalers`, named({ maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment' } })],
  [`${budget}/poddisruptionbudgets`, named({ minAvailable: 1, maxUnavailable: 1, selector })],
  [`${core}/services`, named({ selector: labels })],
  ['/apis/storage.k8s.io/v1/storageclasses', { metadata: { name: 'bad' } }],
];
