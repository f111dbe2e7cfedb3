import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator, administratorToken } from './api.ts';

const listed = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const objectName = z.object({ object: z.object({ metadata: z.object({ name: z.string() }) }) });

describe('a watch of the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start());
  const admin = administrator(cluster);

  it('is cut off if it is not read, so that it cannot fill the memory', async () => {
    const { hostname, port } = new URL(cluster.url);
    const socket = connect({ host: hostname, port: Number(port), ca: cluster.certificateAuthority });
    await once(socket, 'secureConnect');
    const token = await administratorToken(cluster);
    socket.write(`GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await once(socket, 'readable');
    const closed = once(socket, 'close');
    const large = (index: number) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'large', namespace: 'default' },
      data: { text: 'x'.repeat(1_000_000), index: String(index) },
    });
    for (let index = 0; index < 100; index += 1) await cluster.apply(large(index));
    socket.resume();
    await closed;

    expect((await admin.send('GET', '/livez')).status).to.equal(200);
  });

  it('is not begun for a client that has left while its version was awaited', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });
    await cluster.apply(configMap('known'));
    const known = listed.parse((await admin.send('GET', '/api/v1/configmaps')).body);
    const headers = { Authorization: `Bearer ${await administratorToken(cluster)}` };
    const query = `watch=1&allowWatchBookmarks=1&resourceVersion=${Number(known.metadata.resourceVersion) + 1}`;
    const before = timers();
    const watches = Array.from({ length: 50 }, () =>
      get(`${cluster.url}/api/v1/configmaps?${query}`, { ca: cluster.certificateAuthority, headers, agent: false }).on(
        'error',
        () => undefined,
      ),
    );
    await Promise.all(watches.map((watch) => once(watch, 'finish')));
    await sleep(500);
    for (const watch of watches) watch.destroy();
    await sleep(100);
    await cluster.apply(configMap('awaited'));
    await sleep(500);
    expect(timers()).to.be.below(before + watches.length);
  });

  it('ends when the definition of its resource is deleted', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    };
    await cluster.apply(definition, { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'one' } });
    const { told } = await admin.watch('/apis/example.com/v1/things?watch=1');
    await admin.send('DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com');

    expect((await told).match(/"type":"\w+"/g)).to.deep.equal(['"type":"ADDED"', '"type":"DELETED"']);
    expect((await admin.send('GET', '/apis/example.com/v1/things')).status).to.equal(404);
  });

  it('sends all of ten thousand existing objects', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `many-${String(index).padStart(5, '0')}`);
    await cluster.apply(
      ...names.map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'kube-public' }, data: { a: '1' } })),
    );
    const watch = get(new URL('/api/v1/namespaces/kube-public/configmaps?watch=1&timeoutSeconds=60', cluster.url), {
      ca: cluster.certificateAuthority,
      headers: { authorization: `Bearer ${await administratorToken(cluster)}` },
    });
    const [response] = (await once(watch, 'response')) as [IncomingMessage];
    let body = '';
    let lines = 0;
    for await (const chunk of response.setEncoding('utf8')) {
      body += chunk;
      lines += String(chunk).split('\n').length - 1;
      if (lines >= names.length) break;
    }
    const told = body
      .trim()
      .split('\n')
      .map((line) => objectName.parse(JSON.parse(line)).object.metadata.name);

    expect(told).to.have.members(names);
  });
});
