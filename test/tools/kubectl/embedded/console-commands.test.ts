/** Commands that the console offers to copy, run by a shell with the kubectl of this machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { expect } from 'chai';
import { administrator, administratorToken } from '../../../../packages/embedded-cluster/test/api.ts';
import { commandsFor, execCommand, kubectl, kubectlFor, logCommand } from '../../../../web/src/pages/cluster/kubectl.ts';
import { drainCommand } from '../../../../web/src/pages/cluster/sections/node/drain-plan.ts';
import { eventually } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { kubectlArguments } from '../../../support/kubectl.ts';

const deployments = { group: 'apps', resource: 'deployments' };
const web = { name: 'web', namespace: 'default' };
const labels = { app: 'web' };

describe('commands that the console offers, in the kubectl of this machine', () => {
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  const admin = administrator(cluster);
  let directory: string;
  let target: string[];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
    const caFile = join(directory, 'ca.crt');
    await writeFile(caFile, cluster.certificateAuthority);
    target = kubectlArguments({ url: cluster.url, caFile, token: await administratorToken(cluster) });
    cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' }, spec: {} });
    await admin.send('POST', '/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'web' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'registry.example.com/storefront:1' }] } },
      },
    });
    await eventually(
      async () => (await pods()).map(({ status }) => status.phase),
      (phases) => phases.join() === 'Running,Running',
    );
  });
  after(() => rm(directory, { recursive: true, force: true }));

  type Item = { metadata: { name: string; namespace: string }; spec: Record<string, unknown>; status: { phase: string } };
  const pods = async () =>
    ((await admin.send('GET', '/api/v1/namespaces/default/pods?labelSelector=app%3Dweb')).body as unknown as { items: Item[] }).items;
  const read = async (path: string) => (await admin.send('GET', path)).body as unknown as Item;

  /** Runs a command as a user pastes it. @param isDone ends a command that follows its output */
  async function pasted(command: string, input = '', isDone?: (text: string) => boolean): Promise<string> {
    const wrapped = `kubectl() { exec kubectl ${target.map((word) => `'${word}'`).join(' ')} "$@"; }\n${command}`;
    const child = spawn('sh', ['-c', wrapped]);
    const closed = once(child, 'close');
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (isDone?.(text)) child.kill();
      });
    child.stdin.end(input);
    await closed;
    return text;
  }

  it('pause a rollout, and cordon a node', async () => {
    expect(await pasted(kubectlFor(['rollout', 'pause'], deployments, web))).to.equal('deployment.apps/web paused\n');
    expect((await read('/apis/apps/v1/namespaces/default/deployments/web')).spec.paused).to.equal(true);
    expect(await pasted(kubectl('cordon', 'one'))).to.equal('node/one cordoned\n');
    expect((await read('/api/v1/nodes/one')).spec.unschedulable).to.equal(true);
    await pasted(kubectl('uncordon', 'one'));
    expect((await read('/api/v1/nodes/one')).spec.unschedulable).to.equal(undefined);
  });

  it('follow the logs of a workload, each line with its pod', async () => {
    const [one, two] = (await pods()).map(({ metadata }) => metadata.name);
    const asked = { namespace: 'default', isPrevious: false, hasTimes: true, tailLines: 1000, streams: 20 };
    const both = (text: string) => text.includes(`[pod/${one}/app] 20`) && text.includes(`[pod/${two}/app] 20`);
    expect(both(await pasted(logCommand({ ...asked, selector: 'app in (web)' }), '', both))).to.equal(true);
    const recent = logCommand({ ...asked, pod: one, container: 'app', sinceSeconds: 3600 });
    expect(await pasted(recent, '', (text) => text.includes('\n'))).to.match(/^20\d\d-/);
  });

  it('open a shell in a container', async () => {
    const [pod] = await pods();
    expect(await pasted(execCommand((pod as Item).metadata, 'app', 'sh'), 'echo $HOSTNAME\nexit\n')).to.include(
      (pod as Item).metadata.name,
    );
  });

  it('drain a node, and delete several pods', async () => {
    expect(await pasted(drainCommand('one', []))).to.include('node/one drained');
    const names = (await pods()).map(({ metadata }) => metadata);
    expect(await pasted(commandsFor(['delete'], { group: '', resource: 'pods' }, names))).to.match(/pod "web-\S+" deleted/);
  });
});
