/** Workloads of the demo. Some run and some are broken, so that every page has content. */
import { createAuthority, createCertificate } from '@atrium/embedded-cluster/certificates.ts';
import type { KubernetesObject } from '@atrium/embedded-cluster/objects.ts';

const registry = 'registry.example.com';

const namespace = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

function node(name: string, { role, isCordoned = false }: { role: string; isCordoned?: boolean }): KubernetesObject {
  const now = time();
  const condition = (type: string, status: string, reason: string, message: string) => ({
    ...{ type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime: now },
  });
  const resources = { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/os': 'linux',
        [`node-role.kubernetes.io/${role}`]: '',
      },
    },
    spec: isCordoned ? { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] } : {},
    status: {
      ...{ capacity: resources, allocatable: { ...resources, memory: '7600Mi' } },
      conditions: [
        condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
      ],
      addresses: [{ type: 'Hostname', address: name }],
      nodeInfo: {
        ...{
          kubeletVersion: 'v1.36.3',
          osImage: 'Debian GNU/Linux 13',
          kernelVersion: '6.12.0',
          containerRuntimeVersion: 'containerd://2.1.4',
        },
        ...{ architecture: 'amd64', operatingSystem: 'linux' },
      },
    },
  };
}

const time = () => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

interface App {
  namespace: string;
  name: string;
  replicas: number;
  /** Images by the name of their container. */
  images: Readonly<Record<string, string>>;
  /** Images of init containers by their name, in their order; `sidecar` keeps running. */
  initImages?: Readonly<Record<string, string>>;
  port?: number;
  cause?: string;
  environment?: readonly { name: string; value: string }[];
  /** Volumes by the path where the first container mounts them. */
  volumes?: Readonly<Record<string, { name: string } & Readonly<Record<string, unknown>>>>;
}

const volumesOf = ({ volumes = {} }: App) => {
  const all = Object.values(volumes);
  return all.length > 0 ? { volumes: all } : {};
};

const mountsOf = ({ volumes = {} }: App) =>
  Object.entries(volumes).map(([mountPath, { name, configMap, secret }]) => ({
    ...{ name, mountPath },
    ...((configMap !== undefined || secret !== undefined) && { readOnly: true }),
  }));

const resourcesOf = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '500m', memory: '256Mi' } };

const initContainersOf = ({ initImages = {} }: App) => {
  const initContainers = Object.entries(initImages).map(([name, image]) => ({
    ...{ name, image: `${registry}/${image}`, resources: { requests: { cpu: '10m', memory: '16Mi' } } },
    ...(name === 'sidecar' && { restartPolicy: 'Always' }),
  }));
  return initContainers.length > 0 ? { initContainers } : {};
};

function deployment(app: App): KubernetesObject {
  const { namespace: place, name, replicas, images, port = 8080, cause, environment = [] } = app;
  const labels = { app: name };
  const containers = Object.entries(images).map(([container, image], index) => ({
    ...{ name: container, image: `${registry}/${image}`, resources: resourcesOf },
    ...(index === 0 && {
      ports: [{ name: 'http', containerPort: port }],
      env: environment,
      ...(app.volumes && { volumeMounts: mountsOf(app) }),
      readinessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    }),
  }));
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: place, labels, ...(cause && { annotations: { 'kubernetes.io/change-cause': cause } }) },
    spec: {
      replicas,
      progressDeadlineSeconds: 10,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...initContainersOf(app), containers, ...volumesOf(app) } },
    },
  };
}

const service = (place: string, name: string, port = 8080): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: place, labels: { app: name } } },
  spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: port }] },
});

/** Returns a StatefulSet or DaemonSet. Each image is a container of its pods. */
function workload(kind: 'StatefulSet' | 'DaemonSet', app: App): KubernetesObject {
  const { namespace: place, name, replicas, images, port = 8080 } = app;
  const labels = { app: name };
  const containers = Object.entries(images).map(([container, image]) => ({
    ...{ name: container, image: `${registry}/${image}`, ports: [{ containerPort: port }], resources: resourcesOf },
  }));
  const own = kind === 'StatefulSet' ? { replicas, serviceName: name } : {};
  return {
    ...{ apiVersion: 'apps/v1', kind, metadata: { name, namespace: place, labels } },
    spec: { ...own, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { ...initContainersOf(app), containers } } },
  };
}

const jobSpec = (image: string, backoffLimit: number) => ({
  backoffLimit,
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'run', image: `${registry}/${image}` }] } },
});

const job = (place: string, name: string, image: string): KubernetesObject => ({
  ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace: place } },
  spec: jobSpec(image, 1),
});

const cronJob = (place: string, name: string, image: string): KubernetesObject => ({
  ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name, namespace: place } },
  spec: { schedule: '30 2 * * *', timeZone: 'Europe/Berlin', concurrencyPolicy: 'Forbid', jobTemplate: { spec: jobSpec(image, 2) } },
});

const settings = (place: string, name: string, data: Readonly<Record<string, string>>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: place } },
  data,
});

const budget = (place: string, name: string): KubernetesObject => ({
  ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace: place } },
  spec: { minAvailable: 2, selector: { matchLabels: { app: name } } },
});

/** Limits the resources of a namespace. */
const quota = (place: string, hard: Readonly<Record<string, string>>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'team', namespace: place } },
  spec: { hard },
});

/** Accepts traffic for an app only from another app. */
const networkPolicy = (place: string, name: string, from: string, port: number): KubernetesObject => ({
  ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name, namespace: place } },
  spec: {
    podSelector: { matchLabels: { app: name } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: from } } }], ports: [{ protocol: 'TCP', port }] }],
  },
});

const storageClass: KubernetesObject = {
  ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass' },
  metadata: { name: 'fast', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  ...{ provisioner: 'disks.example.com', reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer', allowVolumeExpansion: true },
};

const volume = (name: string, size: string, claim: { namespace: string; name: string }): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name } },
  spec: {
    ...{ capacity: { storage: size }, accessModes: ['ReadWriteOnce'], storageClassName: 'fast', persistentVolumeReclaimPolicy: 'Delete' },
    ...{
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim },
      csi: { driver: 'disks.example.com', volumeHandle: name },
    },
  },
});

/** Scales replicas with the load. */
const scaler = (place: string, name: string): KubernetesObject => ({
  ...{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name, namespace: place } },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
    ...{ minReplicas: 1, maxReplicas: 4 },
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }],
  },
});

const ingress = (place: string, name: string, host: string): KubernetesObject => ({
  ...{ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name, namespace: place } },
  spec: {
    ingressClassName: 'nginx',
    tls: [{ hosts: [host], secretName: `${name}-tls` }],
    rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name, port: { name: 'http' } } } }] } }],
  },
});

/** Grants a user a role in one namespace. */
const roleBinding = (place: string, role: string, person: string): KubernetesObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: `demo-${role}`, namespace: place },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
});

const storefront = { namespace: 'shop', name: 'storefront', replicas: 3 };
const checkout = { namespace: 'payments', name: 'checkout', replicas: 2 };

const nodeExporter = (version: string) =>
  workload('DaemonSet', {
    ...{ namespace: 'monitoring', name: 'node-exporter', replicas: 0, port: 9100 },
    images: { exporter: `node-exporter:${version}` },
  });

/**
 * Returns the first revisions, which are applied before the others, so that there is a history. The first revision of the storefront has no
 * pods: they would be replaced in the first seconds of the demo, while a user looks at one.
 */
export const demoFirstRevisions = (): KubernetesObject[] => [
  ...['shop', 'payments', 'monitoring'].map(namespace),
  node('node-1', { role: 'control-plane' }),
  node('node-2', { role: 'worker' }),
  node('node-3', { role: 'worker', isCordoned: true }),
  deployment({ ...storefront, replicas: 0, images: { web: 'storefront:1.8.0' }, cause: 'First release of the year' }),
  deployment({ ...checkout, images: { api: 'checkout:4.1.0' }, cause: 'Payments by invoice' }),
  nodeExporter('1.8.2'),
];

/** Replaces the first revision once it is available, so that the stuck rollout leaves available replicas. */
export const demoStuckRevision = deployment({ ...checkout, images: { api: 'checkout:4.2.0-typo' }, cause: 'Payments by card' });

export const demoWorkloads = (): KubernetesObject[] => [
  settings('shop', 'storefront', { currency: 'EUR', 'features.json': '{"search":true,"reviews":false}' }),
  deployment({
    ...{ ...storefront, images: { web: 'storefront:1.9.2' }, cause: 'Search in the catalogue' },
    environment: [{ name: 'CATALOGUE_URL', value: 'http://cart.shop' }],
    volumes: {
      '/etc/storefront': { name: 'settings', configMap: { name: 'storefront' } },
      '/etc/tls': { name: 'certificate', secret: { secretName: 'storefront-tls' } },
      '/var/cache/pages': { name: 'cache', emptyDir: { sizeLimit: '64Mi' } },
    },
  }),
  service('shop', 'storefront'),
  deployment({ namespace: 'shop', name: 'cart', replicas: 2, images: { cart: 'cart:2.3.1', recommendations: 'recommendations:0.4.0' } }),
  service('shop', 'cart'),
  service('payments', 'checkout'),
  deployment({ namespace: 'payments', name: 'ledger', replicas: 1, images: { ledger: 'ledger:1.0.3' } }),
  deployment({
    namespace: 'monitoring',
    name: 'metrics-api',
    replicas: 1,
    images: { api: 'api:0.7.1' },
    initImages: { sidecar: 'log-forwarder:3.1.0' },
  }),
  deployment({
    namespace: 'monitoring',
    name: 'alerts',
    replicas: 1,
    images: { alerts: 'alerts:2.0.4' },
    initImages: { 'fetch-rules': 'rules:2.0.4' },
  }),
  ingress('shop', 'storefront', 'shop.example.com'),
  budget('shop', 'storefront'),
  scaler('monitoring', 'metrics-api'),
  { ...budget('monitoring', 'metrics-api'), spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'metrics-api' } } } },
  quota('shop', { pods: '40', services: '10', persistentvolumeclaims: '5', 'requests.storage': '50Gi' }),
  networkPolicy('shop', 'cart', 'storefront', 8080),
  storageClass,
  volume('disk-7f3a', '20Gi', { namespace: 'payments', name: 'backup' }),
  workload('StatefulSet', {
    ...{ namespace: 'payments', name: 'orders-db', replicas: 2, images: { postgres: 'postgres:17.2' }, port: 5432 },
    initImages: { 'volume-permissions': 'volume-permissions:1.0.0' },
  }),
  service('payments', 'orders-db', 5432),
  nodeExporter('1.9.0'),
  job('payments', 'migrate-orders', 'migrations:0042'),
  cronJob('shop', 'nightly-report', 'report:1.2.0'),
  roleBinding('shop', 'admin', 'jane@example.com'),
  roleBinding('shop', 'view', 'viewer@example.com'),
];

/** Returns the certificate of the shop, which expires soon, with its authority. */
export async function demoCertificate(now: Date): Promise<KubernetesObject> {
  const authority = await createAuthority(now, 'CN=Example Shop CA, O=Example');
  const names = ['shop.example.com', 'www.shop.example.com'];
  const { certificate, key } = await createCertificate(authority, { subject: 'CN=shop.example.com, O=Example', names, days: 12, now });
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name: 'storefront-tls', namespace: 'shop' } },
    stringData: { 'tls.crt': `${certificate}\n${authority.certificate}\n`, 'tls.key': key },
  };
}
