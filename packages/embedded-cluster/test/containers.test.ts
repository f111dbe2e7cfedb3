import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { type JsonObject, type KubernetesObject, valueAt } from '@atrium/embedded-cluster/objects.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator } from './api.ts';
import { streamOf } from './stream.ts';

const pods = '/api/v1/namespaces/default/pods';
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
const container = (name: string, rest: JsonObject = {}) => ({ name, image: `registry.example.com/${name}:1`, ...rest });
const main = container('storefront');

describe('init, sidecar and ephemeral containers of the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  const admin = administrator(cluster);
  before(() => cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' } }));

  const create = async (name: string, spec: JsonObject) => {
    const answer = await admin.send('POST', pods, { metadata: { name }, spec });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
  };
  const read = async (name: string) => (await admin.send('GET', `${pods}/${name}`)).body as KubernetesObject;
  /** Returns readiness and status as `kubectl get` prints them. */
  const printed = async (name: string) => {
    const { rows } = (await admin.send('GET', `${pods}/${name}`, undefined, table)).body as { rows: { cells: unknown[] }[] };
    return `${rows[0]?.cells[1]} ${rows[0]?.cells[2]}`;
  };
  const seenUntil = async (name: string, last: string) => {
    const seen = new Set<string>();
    await eventually(
      async () => {
        const now = await printed(name);
        seen.add(now);
        return now;
      },
      (now) => now === last,
    );
    return [...seen];
  };
  const condition = async (name: string, type: string) =>
    ((await read(name)).status as { conditions: JsonObject[] }).conditions.find((one) => one.type === type);

  it('runs init containers one after the other, and the pod after the last', async () => {
    await create('prepared', { initContainers: [container('fetch'), container('unpack')], containers: [main] });
    await eventually(
      () => printed('prepared'),
      (now) => now === '0/1 Init:1/2',
    );
    expect(await condition('prepared', 'Initialized')).to.deep.include({
      ...{ status: 'False', reason: 'ContainersNotInitialized', message: 'containers with incomplete status: [unpack]' },
    });
    expect(valueAt(await read('prepared'), ['status', 'containerStatuses', '0', 'state', 'waiting', 'reason'])).to.equal('PodInitializing');
    await seenUntil('prepared', '1/1 Running');
    const { status } = await read('prepared');
    expect(valueAt(status, ['initContainerStatuses', '0', 'state', 'terminated', 'exitCode'])).to.equal(0);
    expect(await condition('prepared', 'Initialized')).to.include({ status: 'True' });
    expect((await admin.send('GET', `${pods}/prepared/log?container=unpack`)).body).to.match(/^tick /);
  });

  it('restarts a failed init container, and never the pod', async () => {
    await create('failing', { initContainers: [container('migrations')], containers: [main] });
    const seen = await seenUntil('failing', '0/1 Init:CrashLoopBackOff');
    expect(seen).to.include('0/1 Init:0/1');
    expect((await admin.send('GET', `${pods}/failing/log?container=migrations&previous=true`)).body).to.include('Migration failed');
    await create('given-up', { restartPolicy: 'Never', initContainers: [container('migrations')], containers: [main] });
    await seenUntil('given-up', '0/1 Init:Error');
    expect(valueAt(await read('given-up'), ['status', 'phase'])).to.equal('Failed');
  });

  it('counts a sidecar as ready, and ends it with the last container', async () => {
    const proxy = container('proxy', { restartPolicy: 'Always' });
    await create('report', { restartPolicy: 'Never', initContainers: [proxy], containers: [container('report')] });
    await seenUntil('report', '2/2 Running');
    await seenUntil('report', '0/2 Completed');
    expect(valueAt(await read('report'), ['status', 'phase'])).to.equal('Succeeded');
    expect(valueAt(await read('report'), ['status', 'initContainerStatuses', '0', 'state', 'terminated', 'reason'])).to.equal('Completed');
  });

  it('runs an ephemeral container until the attached caller leaves its shell, and never again', async () => {
    await create('broken', { containers: [main] });
    await seenUntil('broken', '1/1 Running');
    const debug = { name: 'debug', image: 'registry.example.com/busybox:1', stdin: true, targetContainerName: 'storefront' };
    const patch = { spec: { ephemeralContainers: [debug] } };
    expect((await admin.send('PATCH', `${pods}/broken/ephemeralcontainers`, patch, strategic)).status).to.equal(200);
    const state = async () =>
      valueAt(await read('broken'), ['status', 'ephemeralContainerStatuses', '0', 'state']) as JsonObject | undefined;
    await eventually(state, (now) => now?.running !== undefined);

    const command = await streamOf(cluster, `${pods}/broken/exec?container=debug&stdout=true&command=hostname`, {
      protocol: 'v5.channel.k8s.io',
    });
    expect(command.of(1)).to.equal('broken\n');
    expect(await state()).to.have.property('running');
    const attached = await streamOf(cluster, `${pods}/broken/attach?container=debug&stdin=true&stdout=true`, {
      ...{ protocol: 'v5.channel.k8s.io', lines: ['ps', 'exit 3'] },
    });
    expect(attached.of(1)).to.include(' storefront\n');
    expect((await eventually(state, (now) => now?.terminated !== undefined))?.terminated).to.deep.include({ exitCode: 3, reason: 'Error' });
    expect(await printed('broken')).to.equal('1/1 Running');
    expect(await read('broken')).to.have.nested.property('metadata.generation', 2);
  });

  it('says why an ephemeral container does not start', async () => {
    const patch = { spec: { ephemeralContainers: [{ name: 'late', image: 'registry.example.com/busybox:missing' }] } };
    await admin.send('PATCH', `${pods}/broken/ephemeralcontainers`, patch, strategic);
    const reason = async () => {
      const { ephemeralContainerStatuses = [] } = (await read('broken')).status as { ephemeralContainerStatuses?: JsonObject[] };
      return valueAt(
        ephemeralContainerStatuses.find(({ name }) => name === 'late'),
        ['state', 'waiting', 'reason'],
      );
    };
    await eventually(reason, (now) => now === 'ErrImagePull' || now === 'ImagePullBackOff');
    expect((await admin.send('GET', `${pods}/broken/log?container=late`)).status).to.equal(400);
  });
});
