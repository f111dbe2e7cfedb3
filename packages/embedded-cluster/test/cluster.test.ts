import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { valueAt } from '@atrium/embedded-cluster/objects.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator, administratorToken, apiOf } from './api.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { a: '1' } });

describe('the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start());
  const admin = administrator(cluster);

  it('writes a kubeconfig that only its owner can read and that the official client can use', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-kubeconfig-'));
    const path = join(directory, 'kubeconfig');
    await cluster.writeKubeconfig(path, await administratorToken(cluster));
    const config = new KubeConfig();
    config.loadFromFile(path);
    const { items } = await config.makeApiClient(CoreV1Api).listNamespace();

    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    expect(items.map(({ metadata }) => metadata?.name)).to.deep.equal(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    expect(await readFile(path, 'utf8')).to.equal(cluster.kubeconfig(config.getUser('atrium')?.token ?? ''));
    await rm(directory, { recursive: true });
  });

  it('answers 501 with a Status to calls that it does not implement', async () => {
    const calls: [method: string, path: string, body?: unknown][] = [
      ['GET', '/apis/events.k8s.io/v1/events'],
      ['PUT', '/api/v1/namespaces/default/finalize', {}],
      ['GET', '/metrics'],
      ['GET', '/openid/v1/jwks'],
    ];
    for (const [method, path, body] of calls) {
      const answer = await admin.send(method, path, body);

      expect(answer.status, path).to.equal(501);
      expect(answer.body, path).to.include({ kind: 'Status', status: 'Failure', reason: 'NotImplemented', code: 501 });
    }
  });

  it('refuses a definition that it could not serve, and keeps nothing of it', async () => {
    const schema = { openAPIV3Schema: { type: 'object' } };
    const version = { name: 'v1', served: true, storage: true, schema };
    const definition = (spec: object) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: { group: 'example.com', scope: 'Cluster', names: { plural: 'things', kind: 'Thing' }, versions: [version], ...spec },
    });
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    const refused = [
      { versions: [version, { ...version, name: 'v2', storage: false }] },
      { conversion: { strategy: 'Webhook' } },
      { versions: [{ ...version, subresources: { scale } }] },
      { versions: [{ ...version, additionalPrinterColumns: [{ name: 'All', type: 'string', jsonPath: 'spec.name' }] }] },
    ];
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    for (const spec of refused) {
      const answer = await admin.send('POST', path, definition(spec));

      expect(answer.status, JSON.stringify(spec)).to.equal(422);
      expect(answer.body).to.include({ reason: 'Invalid' });
    }
    expect((await admin.send('GET', `${path}/things.example.com`)).status).to.equal(404);
    expect((await admin.send('GET', '/apis/example.com/v1/things')).status).to.equal(404);
  });

  it('applies objects with the checks that every client has to pass', async () => {
    const [made] = await cluster.apply(configMap('seeded'));
    const [replaced] = await cluster.apply({ ...configMap('seeded'), data: { b: '2' } });
    const refusal = await cluster.apply({ ...configMap('seeded'), data: { 'a b': '' } }).catch((error: unknown) => error);
    const unknown = await cluster.apply({ ...configMap('seeded'), kind: 'Thing' }).catch((error: unknown) => error);

    expect(replaced?.metadata.uid).to.equal(made?.metadata.uid);
    expect(replaced?.data).to.deep.equal({ b: '2' });
    expect(refusal).to.be.instanceOf(StatusError).with.nested.property('status.code', 422);
    expect(unknown).to.be.instanceOf(StatusError).with.nested.property('status.code', 400);
  });

  it('answers the next page after a compaction with 410 and a token that continues with current objects', async () => {
    await cluster.apply(configMap('page-a'), configMap('page-b'), configMap('page-c'));
    const first = await admin.send('GET', `${configMaps}?limit=1`);
    const next = valueAt(first.body, ['metadata', 'continue']);
    const path = `${configMaps}?limit=1&continue=${String(next)}`;
    await cluster.apply(configMap('page-d'));
    expect((await admin.send('GET', path)).status).to.equal(200);
    cluster.compact();
    const stale = await admin.send('GET', path);
    const again = valueAt(stale.body, ['metadata', 'continue']);
    const rest = await admin.send('GET', `${configMaps}?continue=${String(again)}`);

    expect(stale.status).to.equal(410);
    expect(stale.body).to.include({ kind: 'Status', reason: 'Expired' });
    expect(rest.status).to.equal(200);
    expect(JSON.stringify(rest.body))
      .to.include('page-d')
      .and.not.include(`"name":${JSON.stringify(valueAt(first.body, ['items', '0', 'metadata', 'name']))}`);
  });

  it('ends a watch from before a compaction with an ERROR event of 410', async () => {
    const [old] = await cluster.apply(configMap('watched'));
    await cluster.apply({ ...configMap('watched'), data: { a: '2' } });
    cluster.compact();
    const answer = await admin.send('GET', `${configMaps}?watch=1&resourceVersion=${old?.metadata.resourceVersion}`);

    expect(answer.status).to.equal(200);
    expect(valueAt(answer.body, ['type'])).to.equal('ERROR');
    expect(valueAt(answer.body, ['object'])).to.include({ kind: 'Status', code: 410, reason: 'Expired' });
  });

  it('ends the watches that are open when it stops', async () => {
    const other = await Cluster.start();
    const api = apiOf(other, await administratorToken(other));
    const { told } = await api.watch(`${configMaps}?watch=1`);
    await other.stop();

    expect(await told.catch((error: unknown) => error)).to.be.instanceOf(Error);
    await api.close();
  });

  it('ends the connections that have not begun to speak when it stops', async () => {
    const other = await Cluster.start();
    const silent = connect(Number(new URL(other.url).port), '127.0.0.1');
    const closed = once(silent.resume(), 'close');
    await once(silent, 'connect');
    // This connection is accepted after the silent one.
    const api = apiOf(other, await administratorToken(other));
    await api.send('GET', configMaps);
    await other.stop();
    await closed;

    await api.close();
  });
});
