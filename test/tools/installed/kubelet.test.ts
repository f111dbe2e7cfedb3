import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import type { WholeCluster } from './cluster.ts';
import { ServiceProxy } from './service-proxy.ts';
import { sharedCluster } from './shared-cluster.ts';

const namespace = 'kubelet';
const labels = { app: 'echo' };

/** Program that reports its process and its files, becomes ready a moment after its start, and ends on SIGTERM. */
const program = `
const { readFileSync, readdirSync, writeFileSync } = require('node:fs');
const attempt = (work) => { try { return work(); } catch (error) { return error.code; } };
const status = readFileSync('/proc/self/status', 'utf8');
const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const seen = () => ({
  pid: process.pid, uid: process.getuid(), gid: process.getgid(), name: process.env.POD_NAME, greeting: process.env.GREETING,
  capabilities: /CapEff:\\s*(\\S+)/.exec(status)[1], root: attempt(() => writeFileSync('/x', '')), scratch: attempt(() => writeFileSync('/tmp/x', '') ?? 'written'),
  config: readFileSync('/etc/echo/greeting', 'utf8'), top: readdirSync('/').sort(), token: readFileSync(token, 'utf8'),
});
const since = Date.now();
require('node:http').createServer((request, response) => {
  if (request.url === '/ready' && Date.now() - since < 300) response.statusCode = 503;
  if (request.url === '/crash') process.exit(3);
  response.setHeader('connection', 'close').end(JSON.stringify(seen()));
}).listen(8080, process.env.POD_IP);
process.on('SIGTERM', () => process.exit(0));
`;

const deployment = (greeting: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'echo', namespace },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 5,
        securityContext: { runAsNonRoot: true, fsGroup: 3000, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'echo',
            image: 'registry.test/atrium:1',
            command: ['node', '-e', program],
            env: [
              { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
              { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              { name: 'GREETING', value: `${greeting} from $(POD_NAME)` },
            ],
            ports: [{ name: 'http', containerPort: 8080 }],
            startupProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1, failureThreshold: 120 },
            readinessProbe: { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 1 },
            lifecycle: { preStop: { sleep: { seconds: 1 } } },
            securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            volumeMounts: [
              { name: 'config', mountPath: '/etc/echo' },
              { name: 'scratch', mountPath: '/tmp' },
            ],
          },
        ],
        volumes: [
          { name: 'config', configMap: { name: 'echo' } },
          { name: 'scratch', emptyDir: {} },
        ],
      },
    },
  },
});

describe('the kubelet of the tests', () => {
  let cluster: WholeCluster;
  let proxy: ServiceProxy;
  let url: string;

  const rolledOut = () =>
    eventually(
      async () => (await cluster.kubectl('rollout', 'status', 'deployment/echo', '-n', namespace, '--timeout=30s')).stdout,
      (text) => text.includes('successfully rolled out'),
    );
  const ask = async (path = '/') => (await fetch(`${url}${path}`)).json() as Promise<Record<string, unknown>>;

  before(async () => {
    cluster = await sharedCluster();
    cluster.images.set('registry.test/atrium:1', cluster.image);
    await cluster.admin.apply(
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
      },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'echo', namespace }, data: { greeting: 'as written' } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'echo', namespace },
        spec: { selector: labels, ports: [{ port: 80, targetPort: 'http' }] },
      },
      deployment('hello'),
    );
    const address = cluster.network.address();
    url = `http://${address}`;
    proxy = new ServiceProxy({
      kubeconfig: cluster.controlPlane.kubeconfig,
      namespace,
      service: 'echo',
      network: cluster.network,
      address,
    });
    proxy.start();
    await rolledOut();
    await eventually(
      () => proxy.endpoints,
      (endpoints) => endpoints.length === 2,
    );
  });

  after(async () => {
    await proxy?.stop();
    await cluster?.kubectl('delete', 'namespace', namespace, '--wait=false');
  });

  it('runs a container as process 1 of its user, without capabilities, on the file system of the image alone', async () => {
    const seen = await ask();

    expect(seen).to.include({
      pid: 1,
      uid: 65_532,
      capabilities: '0000000000000000',
      root: 'EROFS',
      scratch: 'written',
      config: 'as written',
    });
    expect(seen.top).to.deep.equal(['app', 'dev', 'etc', 'lib', 'lib64', 'proc', 'tmp', 'usr', 'var']);
    expect(seen.greeting).to.equal(`hello from ${seen.name}`);
  });

  it('mounts a token of the Pod that the API server accepts', async () => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: (await ask()).token } };

    const { body } = await cluster.admin.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review);

    expect(body).to.have.nested.property('status.user.username', `system:serviceaccount:${namespace}:default`);
  });

  it('renews mounted files while the container runs', async () => {
    const before = await ask();
    await cluster.admin.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'echo', namespace },
      data: { greeting: 'rewritten' },
    });

    // A node without an API server keeps the files, so the first attempts may change nothing.
    const after = await eventually(
      async () => {
        await cluster.kubelet.refreshVolumes();
        return ask();
      },
      ({ config }) => config === 'rewritten',
    );
    expect(after.token).to.be.a('string').and.not.equal(before.token);
  });

  it('balances connections over both Pods', async () => {
    await eventually(
      async () => new Set([(await ask()).name, (await ask()).name, (await ask()).name, (await ask()).name]).size,
      (size) => size === 2,
    );
  });

  it('restarts a crashed container', async () => {
    const containers = async () =>
      (await cluster.core.listNamespacedPod({ namespace })).items.map(({ status }) => status?.containerStatuses?.[0]);
    const restarts = (of: Awaited<ReturnType<typeof containers>>) => of.reduce((sum, container) => sum + (container?.restartCount ?? 0), 0);
    const before = restarts(await containers());
    await ask('/crash').catch(() => undefined);

    await eventually(containers, (now) => restarts(now) > before && now.every((container) => container?.ready));
  });

  it('rolls out a change without a failed request', async () => {
    const answers: unknown[] = [];
    let isOver = false;
    const asking = (async () => {
      while (!isOver) answers.push((await ask()).greeting);
    })();
    await cluster.admin.apply(deployment('bye'));
    await rolledOut();
    await eventually(
      async () => (await cluster.core.listNamespacedPod({ namespace })).items.length,
      (count) => count === 2,
    );
    isOver = true;
    await asking;

    expect(answers.at(0)).to.match(/^hello/);
    expect(answers.at(-1)).to.match(/^bye/);
  });
});
