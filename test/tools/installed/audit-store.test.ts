import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { outputOf } from './cluster.ts';
import { chart, firstAdmin, namespace, Release, repository, store } from './release.ts';
import { sharedCluster } from './shared-cluster.ts';

const pod = `${store}-0`;

describe('helm install with an audit store', () => {
  const cluster = forSuite(sharedCluster, needsNoStop);
  const atrium = forSuite(
    () => Release.prepare(cluster),
    (it) => it.destroy(),
  );
  const certificates = forSuite(
    () => loopbackCertificates('audit store', [`${store}.${namespace}.svc`]),
    () => undefined,
  );
  // kubectl sends no token without TLS, which an ingress controller would terminate.
  const ingress = forSuite(async () => {
    const { certificate: cert, key } = certificates.serving;
    const upstream = new URL(atrium.url);
    const server = createServer({ cert, key }, (client) => {
      const service = connect({ host: upstream.hostname, port: Number(upstream.port || 80) });
      client.pipe(service).pipe(client);
      for (const socket of [client, service]) socket.on('error', () => client.destroy());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
  });
  let token: string;

  before(async () => {
    cluster.images.set(`${repository}:1.0.0`, cluster.image);
    const { authority, serving } = certificates;
    await cluster.admin.apply({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'store-tls', namespace }, type: 'kubernetes.io/tls' },
      stringData: { 'tls.crt': serving.certificate, 'tls.key': serving.key, 'ca.crt': authority.certificate },
    });
    const settings = ['auditStore.enabled=true', 'auditStore.tls.existingSecret=store-tls', 'admin.clusterRoles={cluster-admin}'];
    const notes = outputOf(await atrium.install(chart, ...settings.flatMap((setting) => ['--set', setting])));
    const [command = ''] = /kubectl .* get secret .*/.exec(notes) ?? [];
    const password = outputOf(await cluster.shell(command)).trim();
    await atrium.settles();
    const credentials = { email: firstAdmin, password, newPassword: 'correct horse battery', storage: 'local' } as const;
    token = (await atrium.logIn(credentials)).info.ext.token?.access_token ?? '';
    outputOf(await cluster.kubectl('create', 'deployment', 'web', '--image=none', '--replicas=1', '--namespace=default'));
  });
  after(() => cluster.kubectl('delete', 'deployment', 'web', '--namespace=default'));

  /** Scales by kubectl through the service. */
  const scale = async (replicas: number) => {
    const door = [`--server=${ingress.url}/api/kubernetes`, '--insecure-skip-tls-verify', `--token=${token}`, '--namespace=default'];
    outputOf(await cluster.kubectl('scale', 'deployment/web', `--replicas=${replicas}`, ...door));
  };
  /** Returns what each replica answers about the scales, newest first; no answer while the store is away. */
  const answers = () =>
    Promise.all(
      atrium.endpoints.map(async (address) => {
        const question = 'resource=deployments&namespace=default&name=web';
        const response = await fetch(`http://${address}:8080/auth/v1/audit?${question}`, { headers: { authorization: `Bearer ${token}` } });
        if (response.status !== 200) return [`${response.status}`];
        return auditEventList.parse(await response.json()).items.map((event) => {
          const { verb, user, objectRef, changes = [] } = event;
          return `${user?.username} ${verb} ${objectRef.subresource} ${JSON.stringify(changes)}`;
        });
      }),
    );
  const scaled = (from: number, to: number) => `${firstAdmin} patch scale ${JSON.stringify([{ field: 'spec.replicas', from, to }])}`;
  const eachAnswers = async (...expected: string[]) => {
    const found = await eventually(answers, (all) => all.length === 2 && all.every((events) => `${events}` === `${expected}`));
    expect(found).to.deep.equal([expected, expected]);
  };
  const uid = async () => (await atrium.kubectl('get', 'pod', pod, '--output', 'jsonpath={.metadata.uid}')).stdout;

  it('runs a store with a claim of its own, in a namespace that admits only restricted Pods', async () => {
    const claim = [
      'get',
      'persistentvolumeclaim',
      `data-${pod}`,
      '--output',
      'jsonpath={.status.phase} {.spec.resources.requests.storage}',
    ];
    expect(outputOf(await atrium.kubectl(...claim))).to.equal('Bound 10Gi');
    const ready = ['get', 'statefulset', store, '--output', 'jsonpath={.status.readyReplicas}'];
    expect(outputOf(await atrium.kubectl(...ready))).to.equal('1');
  });

  it('answers a scale by kubectl at each replica', async () => {
    await scale(2);
    await eachAnswers(scaled(1, 2));
  });

  it('answers it after the Pod of the store was deleted, with a scale from the time between', async () => {
    const before = await uid();
    outputOf(await atrium.kubectl('delete', 'pod', pod, '--wait=false'));
    await scale(3);
    await eventually(uid, (found) => found !== '' && found !== before);
    await eachAnswers(scaled(2, 3), scaled(1, 2));
  });

  it('answers it after the process of the store was killed', async () => {
    await cluster.kubelet.pods.find(({ name }) => name === pod)?.crash();
    await scale(2);
    await eachAnswers(scaled(3, 2), scaled(2, 3), scaled(1, 2));
  });

  it('keeps the claim when the release is uninstalled', async () => {
    outputOf(await atrium.uninstall());
    expect(outputOf(await atrium.kubectl('get', 'persistentvolumeclaims', '--output', 'name'))).to.include(`data-${pod}`);
  });
});
