import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { type JsonObject, type KubernetesObject, valueAt } from '@atrium/embedded-cluster/objects.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { administrator } from './api.ts';
import { streamOf, type Wanted } from './stream.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const replicaSets = '/apis/apps/v1/namespaces/default/replicasets';
const pods = '/api/v1/namespaces/default/pods';

const deployment = (name: string, spec: JsonObject = {}, image = 'registry.example.com/storefront:1') => ({
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image }] } },
    ...spec,
  },
});
const node = (name: string, isCordoned = false): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
  spec: isCordoned ? { unschedulable: true } : {},
});

describe('the workload controller of the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  const admin = administrator(cluster);
  before(() => cluster.apply(node('one'), node('two', true)));

  const read = async (path: string) => (await admin.send('GET', path)).body as KubernetesObject & { items: KubernetesObject[] };
  const podsOf = async (name: string) => (await read(`${pods}?labelSelector=app%3D${name}`)).items;
  const status = async (name: string) => ((await read(`${deployments}/${name}`)).status ?? {}) as Record<string, unknown>;
  const isRolledOut = async (name: string) => {
    const {
      metadata,
      spec,
      status: is,
    } = (await read(`${deployments}/${name}`)) as unknown as {
      metadata: { generation: number };
      spec: { replicas: number };
      status: unknown;
    };
    const counts = is as Record<string, number>;
    const numbers = ['replicas', 'updatedReplicas', 'availableReplicas'].map((key) => counts[key] ?? 0);
    return counts.observedGeneration === metadata.generation && numbers.every((number) => number === spec.replicas);
  };
  const rolledOut = (name: string) => eventually(() => isRolledOut(name), Boolean);
  const created = async (body: { metadata: { name: string } }) => {
    const answer = await admin.send('POST', deployments, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
  };
  const word = (pod: KubernetesObject) => valueAt(pod, ['status', 'containerStatuses', '0', 'state', 'waiting', 'reason']);

  it('runs the pods of a Deployment on a node that is not cordoned', async () => {
    await created(deployment('shop'));
    await rolledOut('shop');
    const running = await podsOf('shop');

    expect(running.map(({ status: is }) => valueAt(is, ['phase']))).to.deep.equal(['Running', 'Running']);
    expect(running.map(({ spec }) => valueAt(spec, ['nodeName']))).to.deep.equal(['one', 'one']);
    expect(await status('shop')).to.include({ replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 });
    const events = await read(`/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${running[0]?.metadata.name}`);
    expect(events.items.map(({ reason }) => reason)).to.include.members(['Scheduled', 'Pulled', 'Started']);
  });

  it('scales by the subresource, and refuses a scale that is not a number', async () => {
    await created(deployment('scaled'));
    await rolledOut('scaled');
    const scale = `${deployments}/scaled/scale`;
    const body = await read(scale);
    expect(body).to.deep.include({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 2, selector: 'app=scaled' } });
    expect((await admin.send('PATCH', scale, { spec: { replicas: 4 } }, merge)).status).to.equal(200);
    await rolledOut('scaled');
    expect(await podsOf('scaled')).to.have.length(4);
    expect((await admin.send('PATCH', scale, { spec: { replicas: 'many' } }, merge)).status).to.equal(422);
    expect((await admin.send('PUT', scale, { ...body, metadata: { ...body.metadata, resourceVersion: '1' } })).status).to.equal(409);
    await admin.send('PATCH', scale, { spec: { replicas: 0 } }, merge);
    await eventually(
      () => podsOf('scaled'),
      (left) => left.length === 0,
    );
  });

  it('replaces pods revision by revision, and keeps enough of them ready', async () => {
    await created(deployment('rolled', { replicas: 4, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }));
    await rolledOut('rolled');
    const containers = [{ name: 'web', image: 'registry.example.com/storefront:2' }];
    const seen: number[] = [];
    await admin.send('PATCH', `${deployments}/rolled`, { spec: { template: { spec: { containers } } } }, strategic);
    await eventually(async () => {
      seen.push(Number((await status('rolled')).readyReplicas ?? 0));
      return isRolledOut('rolled');
    }, Boolean);

    expect(Math.min(...seen)).to.be.at.least(4);
    const sets = (await read(`${replicaSets}?labelSelector=app%3Drolled`)).items;
    const revisions = sets.map(({ metadata, spec }) => [
      metadata.annotations?.['deployment.kubernetes.io/revision'],
      valueAt(spec, ['replicas']),
    ]);
    expect(revisions).to.have.deep.members([
      ['1', 0],
      ['2', 4],
    ]);
  });

  it('leaves the old pods in place when an image cannot be pulled, reports it after the deadline, and rolls back', async () => {
    await created(deployment('stuck', { progressDeadlineSeconds: 1 }));
    await rolledOut('stuck');
    const { spec } = (await read(`${deployments}/stuck`)) as unknown as { spec: { template: object } };
    const containers = [{ name: 'web', image: 'registry.example.com/storefront:bad' }];
    await admin.send('PATCH', `${deployments}/stuck`, { spec: { template: { spec: { containers } } } }, strategic);
    const reasons = await eventually(
      async () => ((await status('stuck')).conditions as { reason: string }[]).map(({ reason }) => reason),
      (found) => found.includes('ProgressDeadlineExceeded'),
    );
    expect(reasons).to.include('MinimumReplicasAvailable');
    const waiting = await eventually(
      async () => (await podsOf('stuck')).map(word),
      (words) => words.includes('ImagePullBackOff'),
    );
    expect(waiting).to.have.length(3);

    await admin.send('PATCH', `${deployments}/stuck`, [{ op: 'replace', path: '/spec/template', value: spec.template }], {
      'content-type': 'application/json-patch+json',
    });
    await rolledOut('stuck');
    const sets = (await read(`${replicaSets}?labelSelector=app%3Dstuck`)).items;
    expect(sets.map(({ metadata }) => metadata.annotations?.['deployment.kubernetes.io/revision'])).to.have.members(['2', '3']);
  });

  it('makes no revision while a Deployment is paused', async () => {
    await created(deployment('paused', { paused: true }));
    await eventually(
      () => status('paused'),
      ({ observedGeneration }) => observedGeneration === 1,
    );
    expect((await read(`${replicaSets}?labelSelector=app%3Dpaused`)).items).to.have.length(0);
    await admin.send('PATCH', `${deployments}/paused`, { spec: { paused: false } }, merge);
    await rolledOut('paused');
  });

  it('restarts a container that ran out of memory, later each time, and keeps the log of its last run', async () => {
    await created(deployment('greedy', { replicas: 1 }, 'registry.example.com/recommendations:1'));
    const [pod] = await eventually(
      () => podsOf('greedy'),
      ([one]) => one !== undefined && word(one) === 'CrashLoopBackOff',
    );
    const last = valueAt(pod, ['status', 'containerStatuses', '0', 'lastState', 'terminated']);
    expect(last).to.deep.include({ exitCode: 137, reason: 'OOMKilled' });
    const log = `${pods}/${pod?.metadata.name}/log`;
    expect((await admin.send('GET', `${log}?previous=true&tailLines=2`)).body).to.match(
      /^(recommendations: model loaded, \d+ MiB in use\n){2}$/,
    );
  });

  it('runs a container on whose memory limit is raised far enough', async () => {
    const limit = (memory: string) => [{ op: 'add', path: '/spec/template/spec/containers/0/resources', value: { limits: { memory } } }];
    const patchType = { 'content-type': 'application/json-patch+json' };
    await created(deployment('grown', { replicas: 1 }, 'registry.example.com/recommendations:1'));
    for (const [memory, state] of [
      ['256Mi', 'CrashLoopBackOff'],
      ['512Mi', undefined],
    ] as const) {
      expect((await admin.send('PATCH', `${deployments}/grown`, limit(memory), patchType)).status).to.equal(200);
      await eventually(
        () => podsOf('grown'),
        (found) =>
          found.length === 1 &&
          found.every(
            (one) =>
              word(one) === state && valueAt(one, ['status', 'containerStatuses']) !== undefined && JSON.stringify(one).includes(memory),
          ),
      );
    }
  });

  it('answers logs from a moment on with timestamps, and refuses the parameters that a kubelet refuses', async () => {
    await created(deployment('talking', { replicas: 1 }));
    await rolledOut('talking');
    const [pod] = await podsOf('talking');
    const log = `${pods}/${pod?.metadata.name}/log`;
    const text = String((await admin.send('GET', `${log}?timestamps=true&sinceSeconds=3600`)).body);

    expect(text).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z \S+ "GET /);
    const refusals: [query: string, message: RegExp][] = [
      ['container=other', /^container other is not valid for pod talking-/],
      ['previous=true', /^previous terminated container "web" in pod "talking-\S+" not found$/],
      ['tailLines=-1', /^tailLines must be/],
      ['sinceTime=yesterday', /^sinceTime must be/],
    ];
    for (const [query, message] of refusals) {
      const answer = await admin.send('GET', `${log}?${query}`);
      expect(answer.status, query).to.equal(400);
      expect(answer.body).to.have.property('message').that.matches(message);
    }
  });

  it('lets a pod end within its grace period, replaces it, and removes all with the Deployment', async () => {
    await created(deployment('deleted', { replicas: 1 }));
    await rolledOut('deleted');
    const [pod] = await podsOf('deleted');
    const path = `${pods}/${pod?.metadata.name}`;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod?.metadata.name, namespace: 'default' } };
    expect((await admin.send('POST', `${path}/eviction`, eviction)).status).to.equal(201);
    expect((await read(path)).metadata).to.include({ deletionGracePeriodSeconds: 30 });
    await eventually(
      () => podsOf('deleted'),
      (all) => all.length === 1 && all[0]?.metadata.uid !== pod?.metadata.uid,
    );
    await admin.send('DELETE', `${deployments}/deleted`, { propagationPolicy: 'Background' });
    await eventually(
      () => podsOf('deleted'),
      (all) => all.length === 0,
    );
  });

  it('says why a pod has no node, and gives it one when a node is uncordoned', async () => {
    const spec = { nodeSelector: { disk: 'fast' }, containers: [{ name: 'web', image: 'storefront:1' }] };
    expect((await admin.send('POST', pods, { metadata: { name: 'picky' }, spec })).status).to.equal(201);
    const { conditions } = await eventually(
      async () => (await read(`${pods}/picky`)).status as { conditions?: { reason: string; message: string }[] },
      (is) => is.conditions !== undefined,
    );
    expect(conditions?.[0]).to.include({
      reason: 'Unschedulable',
      message: "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    });
    await admin.send('PATCH', '/api/v1/nodes/two', { metadata: { labels: { disk: 'fast' } }, spec: { unschedulable: null } }, strategic);
    await eventually(
      async () => valueAt(await read(`${pods}/picky`), ['spec', 'nodeName']),
      (name) => name === 'two',
    );
    await admin.send('PATCH', '/api/v1/nodes/two', { spec: { unschedulable: true } }, strategic);
  });

  it('refuses workloads that an API server refuses, at the field', async () => {
    const cases: [path: string, body: object, field: string][] = [
      [deployments, deployment('bad', { selector: { matchLabels: { app: 'other' } } }), 'spec.template.metadata.labels'],
      [deployments, deployment('bad', { selector: {} }), 'spec.selector'],
      [deployments, deployment('bad', {}, ''), 'spec.template.spec.containers[0].image'],
      [pods, { metadata: { name: 'bad' }, spec: { containers: [] } }, 'spec.containers'],
    ];
    for (const [path, body, field] of cases) {
      const answer = await admin.send('POST', path, body);
      expect(answer.status, field).to.equal(422);
      expect(valueAt(answer.body, ['details', 'causes', '0', 'field'])).to.equal(field);
    }
  });

  const group = (kind: string) => `/apis/${kind}`;
  const template = (name: string, image: string, spec: JsonObject = {}) => ({
    metadata: { labels: { app: name } },
    spec: { containers: [{ name: 'main', image }], ...spec },
  });
  const make = async (path: string, body: object) => {
    const answer = await admin.send('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
  };
  const statusAt = async (path: string) => ((await read(path)).status ?? {}) as Record<string, unknown>;

  it('gives the pods of a StatefulSet numbers, starts one after the other, and replaces those of an old template', async () => {
    const path = group('apps/v1/namespaces/default/statefulsets');
    const selector = { matchLabels: { app: 'db' } };
    await make(path, {
      metadata: { name: 'db' },
      spec: { replicas: 3, serviceName: 'db', selector, template: template('db', 'postgres:1') },
    });
    await eventually(
      () => statusAt(`${path}/db`),
      ({ readyReplicas }) => readyReplicas === 3,
    );
    const names = (await podsOf('db')).map(({ metadata }) => metadata.name);
    expect(names).to.have.members(['db-0', 'db-1', 'db-2']);

    await admin.send('PATCH', `${path}/db`, { spec: { replicas: 2, template: template('db', 'postgres:2') } }, merge);
    const images = async () =>
      (await podsOf('db')).map(({ metadata, spec }) => `${metadata.name} ${valueAt(spec, ['containers', '0', 'image'])}`);
    await eventually(images, (found) => found.join() === 'db-0 postgres:2,db-1 postgres:2');
    await eventually(
      () => statusAt(`${path}/db`),
      ({ readyReplicas, updatedReplicas, replicas }) => [readyReplicas, updatedReplicas, replicas].every((count) => count === 2),
    );
  });

  it('runs a pod of a DaemonSet on each node, cordoned ones too, and counts only pods of the new template as updated', async () => {
    const path = group('apps/v1/namespaces/default/daemonsets');
    const selector = { matchLabels: { app: 'agent' } };
    await make(path, { metadata: { name: 'agent' }, spec: { selector, template: template('agent', 'agent:1') } });
    await eventually(
      () => statusAt(`${path}/agent`),
      ({ numberReady }) => numberReady === 2,
    );
    expect((await podsOf('agent')).map(({ spec }) => valueAt(spec, ['nodeName'])).sort()).to.deep.equal(['one', 'two']);
    await admin.send('PATCH', `${path}/agent`, { spec: { template: template('agent', 'agent:bad') } }, merge);
    const stuck = await eventually(
      () => statusAt(`${path}/agent`),
      ({ updatedNumberScheduled, numberReady }) => updatedNumberScheduled === 1 && numberReady === 1,
    );
    expect(stuck).to.include({ desiredNumberScheduled: 2, numberUnavailable: 1 });
  });

  it('ends a Job when enough pods are done or too many have failed, and starts none while it is suspended', async () => {
    const path = group('batch/v1/namespaces/default/jobs');
    const never = { restartPolicy: 'Never' };
    await make(path, { metadata: { name: 'good' }, spec: { completions: 2, template: template('good', 'report:1', never) } });
    await make(path, { metadata: { name: 'wrong' }, spec: { backoffLimit: 1, template: template('wrong', 'migrations:1', never) } });
    await make(path, { metadata: { name: 'idle' }, spec: { suspend: true, template: template('idle', 'report:1', never) } });
    const ended = (name: string) =>
      eventually(
        () => statusAt(`${path}/${name}`),
        ({ conditions }) => Array.isArray(conditions) && conditions.length === 2,
      );
    expect(await ended('good'))
      .to.include({ succeeded: 2 })
      .and.to.have.property('completionTime');
    const failed = await ended('wrong');
    expect([failed.failed, valueAt(failed, ['conditions', '1', 'reason'])]).to.deep.equal([2, 'BackoffLimitExceeded']);
    expect(await podsOf('idle')).to.have.length(0);
    await admin.send('PATCH', `${path}/idle`, { spec: { suspend: false } }, merge);
    await ended('idle');
  });

  it('starts a Job of a CronJob in its minute, and none that is suspended', async () => {
    const path = group('batch/v1/namespaces/default/cronjobs');
    const jobTemplate = { spec: { template: template('tick', 'report:1', { restartPolicy: 'Never' }) } };
    await make(path, { metadata: { name: 'tick' }, spec: { schedule: '* * * * *', jobTemplate } });
    await make(path, { metadata: { name: 'off' }, spec: { schedule: '* * * * *', suspend: true, jobTemplate } });
    const jobs = async () => (await read(group('batch/v1/namespaces/default/jobs'))).items.map(({ metadata }) => metadata.name);
    const names = await eventually(jobs, (found) => found.some((name) => name?.startsWith('tick-')));
    expect(names.filter((name) => name?.startsWith('off-'))).to.have.length(0);
  });

  it('holds at most 300 pods, whatever number of replicas is asked for', async () => {
    await created(deployment('huge', { replicas: 1_000_000 }));
    await eventually(
      async () => (await read('/api/v1/pods')).items.length,
      (length) => length === 300,
    );
    const events = await read('/api/v1/namespaces/default/events?fieldSelector=reason%3DFailedCreate');
    expect(events.items[0]?.message).to.equal("the demo's cluster runs at most 300 pods");
    await admin.send('DELETE', `${deployments}/huge`, { propagationPolicy: 'Background' });
    await eventually(
      () => podsOf('huge'),
      (all) => all.length === 0,
    );
  });

  const streamed = (path: string, wanted: Wanted) => streamOf(cluster, path, wanted);

  it('streams a log by WebSocket, and closes it with 1000 at its end', async () => {
    const [pod] = await podsOf('greedy');
    const log = await streamed(`${pods}/${pod?.metadata.name}/log?previous=true&tailLines=2`, { protocol: 'binary.k8s.io' });
    expect(log.code).to.equal(1000);
    expect(log.text).to.match(/^(recommendations: model loaded, \d+ MiB in use\n){2}$/);
    expect((await streamed(`${pods}/${pod?.metadata.name}/log`, { protocol: 'other' })).code).to.equal(400);
  });

  it('runs commands of a toy shell with their exit codes', async () => {
    const [pod] = await podsOf('shop');
    const exec = `${pods}/${pod?.metadata.name}/exec?stdout=true&stdin=true`;
    const lines = ['cd /etc && cat hostname', 'echo "grüße, $HOSTNAME"', 'nothing', 'exit 3'];
    const shell = await streamed(`${exec}&command=sh`, { protocol: 'v5.channel.k8s.io', lines });
    const { name } = pod?.metadata ?? {};

    expect(shell.of(1)).to.equal(`${name}\ngrüße, ${name}\n`);
    expect(shell.of(2)).to.equal('sh: nothing: not found\n');
    expect(JSON.parse(shell.of(3))).to.deep.include({
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
    const one = await streamed(`${exec}&command=sh&command=-c&command=ls%20%2Fetc`, { protocol: 'v4.channel.k8s.io' });
    expect([one.of(1), JSON.parse(one.of(3)).status]).to.deep.equal(['hostname\nhosts\nos-release\n', 'Success']);
    expect((await streamed(`${pods}/none/exec?command=sh`, { protocol: 'v5.channel.k8s.io' })).code).to.equal(404);
  });

  it('answers 501 to a command without a WebSocket, and to portforward', async () => {
    const [pod] = await podsOf('shop');
    for (const part of ['exec', 'attach', 'portforward'])
      expect((await admin.send('POST', `${pods}/${pod?.metadata.name}/${part}`)).status, part).to.equal(501);
  });
});
