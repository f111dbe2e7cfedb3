import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { expect } from 'chai';
import { eventually } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { type KubectlTarget, kubectl as run } from '../../../support/kubectl.ts';

const resources = { requests: { cpu: '100m', memory: '64Mi' } };
const containers = [{ name: 'web', image: 'registry.example.com/storefront:1', resources }];

describe('kubectl, with workloads of the embedded cluster', () => {
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  let directory: string;
  let target: KubectlTarget;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
    const caFile = join(directory, 'ca.crt');
    await writeFile(caFile, cluster.certificateAuthority);
    target = { url: cluster.url, caFile, token: await cluster.issueToken({ username: 'admin', groups: ['system:masters'] }) };
    const status = { capacity: { cpu: '4', memory: '8Gi' }, allocatable: { cpu: '4', memory: '8Gi' } };
    await cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' }, status });
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } });
    await eventually(
      () => kubectl('get', 'pod', 'web'),
      (text) => text.includes('Running'),
    );
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const kubectl = async (...args: string[]) => {
    const { isDone, stdout, stderr } = await run(target, ...args);
    if (!isDone) throw new Error(stderr);
    return stdout;
  };

  it('prints the usage of nodes and containers', async () => {
    expect(await kubectl('top', 'nodes')).to.match(/^NAME +CPU\(cores\) +CPU\(?%\)? .*\none +\d+m +\d+% +\d+Mi +\d+%/);
    expect(await kubectl('top', 'pods', '--containers')).to.match(/\nweb +web +\d+m +\d+Mi/);
  });

  it('explains fields of built-in kinds', async () => {
    const text = await kubectl('explain', 'deployment.spec.template.spec.containers');
    expect(text).to.match(/KIND: +Deployment/);
    expect(text).to.include('List of containers belonging to the pod.');
    expect(text).to.match(/imagePullPolicy\t<string>/);
  });

  it('runs a Job of a CronJob at once', async () => {
    await kubectl('create', 'cronjob', 'report', '--image=registry.example.com/report:1', '--schedule=0 3 1 1 *');
    expect(await kubectl('create', 'job', 'now', '--from=cronjob/report')).to.equal('job.batch/now created\n');
    await eventually(
      () => kubectl('get', 'job', 'now'),
      (text) => text.includes('1/1'),
    );
    expect(await kubectl('get', 'job', 'now', '-o', 'jsonpath={.metadata.annotations}')).to.include(
      '"cronjob.kubernetes.io/instantiate":"manual"',
    );
  });

  it('adds an ephemeral container and runs a command in it', async () => {
    await kubectl('debug', 'web', '--image=registry.example.com/busybox:1', '--target=web', '--container=debug');
    const state = () => kubectl('get', 'pod', 'web', '-o', 'jsonpath={.status.ephemeralContainerStatuses[0].state}');
    await eventually(state, (text) => text.includes('running'));
    expect(await kubectl('exec', 'web', '--container=debug', '--', 'hostname')).to.equal('web\n');
  });
});
