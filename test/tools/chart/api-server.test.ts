import { readdirSync } from 'node:fs';
import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { startControlPlane } from '../../cluster/control-plane.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { namespace, objectsOf, one, render, type Values } from './chart.ts';
import { type Kubectl, kubectlFor, refusalOf } from './kubectl.ts';

const manifests = fileURLToPath(new URL('../../../deploy/manifests', import.meta.url));
const overlay = fileURLToPath(new URL('../../../deploy/example-overlay', import.meta.url));
const server = { publicURL: 'https://console.example.com/atrium' };

/** API versions of other projects, which the API server does not have. render.test.ts and customize.test.ts check these objects. */
const foreign = /^(gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//;

const installations: Record<string, Values> = {
  'as it is': {},
  'with its own issuer and a first administrator': {
    'config.server': server,
    'admin.email': 'ada@example.com',
    'admin.clusterRoles': ['cluster-admin'],
  },
  'with an issuer elsewhere': {
    'config.server': server,
    'config.login.issuer': 'https://issuer.example.com',
    'clientSecret.existingSecret': 'client',
    'certificateAuthority.existingConfigMap': 'authority',
  },
  'that impersonates some groups only': { 'rbac.impersonation.groups': ['dev', 'ops'], 'rbac.impersonation.users': ['ada@example.com'] },
  'with TLS at the pods, and a load balancer': {
    'tls.existingSecret': 'console-tls',
    'service.type': 'LoadBalancer',
    'service.loadBalancerSourceRanges': ['192.0.2.0/24'],
    'service.externalTrafficPolicy': 'Local',
    'service.nodePort': 30_443,
    'service.ipFamilyPolicy': 'PreferDualStack',
    'service.ipFamilies': ['IPv4'],
  },
  'with an Ingress and an autoscaler': {
    'config.server': { ...server, trustedProxies: ['10.0.0.0/8'] },
    'ingress.enabled': true,
    'ingress.className': 'nginx',
    'ingress.tls': [{ secretName: 'console-tls' }],
    'ingress.hosts': [{ host: 'console.example.com' }, { host: 'b.example.com', paths: [{ path: '/x', pathType: 'Exact' }] }],
    'autoscaling.enabled': true,
    'autoscaling.targetMemoryUtilizationPercentage': 80,
    'autoscaling.behavior': { scaleDown: { stabilizationWindowSeconds: 600 } },
  },
  'on nodes of its own, apart from each other': {
    podAntiAffinity: 'required',
    'topologySpread.whenUnsatisfiable': 'DoNotSchedule',
    nodeSelector: { pool: 'console' },
    tolerations: [{ key: 'console', operator: 'Exists', effect: 'NoSchedule' }],
    priorityClassName: 'system-cluster-critical',
    runtimeClassName: 'gvisor',
  },
  'with affinities of its own': {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }] },
      },
    },
  },
  'with an audit store on a volume': { 'auditStore.enabled': true, 'auditStore.tls.existingSecret': 'audit-store-tls' },
  'with the audit webhook of kube-apiserver': {
    'auditStore.enabled': true,
    'auditStore.apiServer': { existingSecret: 'audit-webhook', clusterIP: '10.0.0.77', cidrs: ['192.0.2.0/28'] },
  },
  'with an audit store in PostgreSQL': { 'auditStore.enabled': true, 'auditStore.postgres.existingSecret': 'audit-db-app' },
  'with more of everything': {
    commonLabels: { team: 'platform' },
    commonAnnotations: { 'example.com/owner': 'platform' },
    imagePullSecrets: [{ name: 'registry' }],
    'image.registry': 'registry.example.com:5000',
    hostAliases: [{ ip: '192.0.2.7', hostnames: ['issuer.example.com'] }],
    dnsConfig: { nameservers: ['192.0.2.8'], searches: ['example.com'], options: [{ name: 'ndots', value: '2' }] },
    envFrom: [{ configMapRef: { name: 'settings' } }, { prefix: 'ATRIUM_', secretRef: { name: 'settings', optional: true } }],
    initContainers: [{ name: 'wait', image: 'busybox', command: ['true'] }],
    extraContainers: [{ name: 'proxy', image: 'proxy', ports: [{ containerPort: 9999 }] }],
    topologySpreadConstraints: [
      { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { tier: 'front' } } },
    ],
    'podDisruptionBudget.minAvailable': '50%',
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: '{{ .Release.Namespace }}' }, data: { a: 'b' } },
    ],
    'image.digest': `sha256:${'0'.repeat(64)}`,
    podAnnotations: { 'example.com/scrape': 'true' },
    podLabels: { tier: 'front' },
    extraEnv: [
      { name: 'NODE_EXTRA_CA_CERTS', value: '/ca/ca.crt' },
      { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ],
    extraVolumes: [{ name: 'ca', configMap: { name: 'authority' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/ca', readOnly: true }],
    'config.console.imageNamespaces': [namespace, 'default'],
    'networkPolicy.ingressFrom': [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
    'networkPolicy.egress.apiServerCIDRs': ['192.0.2.1/32'],
    'networkPolicy.egress.extra': [{ to: [{ ipBlock: { cidr: '192.0.2.2/32' } }], ports: [{ port: 636 }] }],
  },
  'with as little as can be': {
    'roles.install': false,
    'admissionPolicy.install': false,
    'crds.install': false,
    'serviceAccount.create': false,
    'rbac.create': false,
    'networkPolicy.enabled': false,
    'podDisruptionBudget.enabled': false,
    'metrics.service.enabled': false,
    'topologySpread.topologyKeys': [],
    preStopSeconds: 0,
  },
};

describe('the manifests of the chart at a real API server', () => {
  const plane = forSuite(() => startControlPlane({ people: ['admin'] }));
  let kubectl: Kubectl;
  before(async () => {
    kubectl = kubectlFor(plane.kubeconfig);
    await kubectl(['create', 'namespace', namespace]);
    await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
    await kubectl(
      ['create', '--filename=-'],
      JSON.stringify({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'gvisor' }, handler: 'runsc' }),
    );
  });

  const tried = (objects: readonly Manifest[]) =>
    kubectl(
      ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '--filename=-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
    );

  for (const [name, values] of Object.entries(installations)) {
    it(`are accepted ${name}`, async () => {
      const objects = (await render(values)).filter(({ apiVersion }) => !foreign.test(apiVersion));

      expect((await tried(objects)).trim().split('\n')).to.have.length(objects.length);
    });
  }

  it('have pods that the Pod Security Standard `restricted` admits', async () => {
    const objects = await render({ 'config.server': server, 'admin.email': 'ada@example.com' });
    const pods = objects.flatMap(podOf);

    expect(pods.map(({ metadata }) => metadata.name)).to.have.members(['deployment', 'job', 'pod']);
    await tried(pods);
  });

  it('would not be admitted with another capability', async () => {
    const pods = (await render({ 'securityContext.capabilities.add': ['SYS_ADMIN'] })).flatMap(podOf);

    expect(await refusalOf(tried(pods))).to.include('violates PodSecurity "restricted:latest"');
  });

  it('are accepted as plain manifests by kubectl apply -k, twice, with the samples', async () => {
    expect(await kubectl(['apply', `--kustomize=${manifests}`])).to.match(/deployment\.apps\/atrium created/);
    await kubectl(['apply', `--kustomize=${manifests}`]);
    const samples = readdirSync(`${manifests}/samples`);

    // The generation shows that the Deployment is unchanged, so no pod is replaced.
    expect(await kubectl(['get', 'deployment', 'atrium', `--namespace=${namespace}`, '--output=jsonpath={.metadata.generation}'])).to.equal(
      '1',
    );
    expect(samples).to.have.length(3);
    for (const sample of samples)
      await kubectl(['create', '--dry-run=server', '--validate=strict', `--filename=${manifests}/samples/${sample}`]);
  });

  it('are accepted as an overlay, whose pods and Job read its own configuration', async () => {
    const objects = objectsOf(await kubectl(['kustomize', overlay]));
    await kubectl(['apply', `--kustomize=${overlay}`]);
    const ofPods = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('atrium-config-'));
    const ofJob = one(objects, 'ConfigMap', 'atrium-first-admin');

    expect(ofPods?.metadata.name).to.match(/^atrium-config-\w{10}$/);
    expect(ofJob.data).to.include(ofPods?.data);
    for (const [kind, config] of [
      ['Deployment', ofPods],
      ['Job', ofJob],
    ] as const) {
      const text = JSON.stringify(objects.find((object) => object.kind === kind));
      expect(text).to.include(`"name":"${config?.metadata.name}"`).and.to.include('"image":"registry.example.com/atrium:1.0.0"');
    }
  });

  it('E4 are accepted as an overlay again after a change of its configuration', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-overlay-'));
    const mine = join(directory, 'mine');
    await cp(overlay, mine, { recursive: true, dereference: true });
    const shown = async (resource: string, path: string) =>
      kubectl(['get', resource, `--namespace=${namespace}`, `--output=jsonpath=${path}`]);
    const volume = '{.spec.template.spec.volumes[0].configMap.name}';
    await kubectl(['apply', `--kustomize=${mine}`]);
    const [before, job] = [await shown('deployment/atrium', volume), await shown('job/atrium-first-admin', '{.metadata.uid}')];

    await appendFile(join(mine, 'config.yaml'), '\nlog: {level: debug}\n');
    await kubectl(['apply', `--kustomize=${mine}`]);

    expect(await shown('deployment/atrium', volume))
      .to.match(/^atrium-config-\w{10}$/)
      .and.not.equal(before);
    expect(await shown('configmap/atrium-first-admin', '{.data.config\\.yaml}')).to.include('level: debug');
    expect(await shown('job/atrium-first-admin', '{.metadata.uid}')).to.equal(job);
    await rm(directory, { recursive: true });
  });
});

/** Returns the pod of a Deployment or Job, or of the test, under the name of its kind. */
function podOf(object: Manifest): Manifest[] {
  const { kind } = object;
  const spec = object.spec as { template?: { spec: unknown } };
  if (!['Deployment', 'Job', 'Pod'].includes(kind)) return [];
  return [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: kind.toLowerCase(), namespace }, spec: spec.template?.spec ?? spec }];
}
