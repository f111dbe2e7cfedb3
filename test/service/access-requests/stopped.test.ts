/** Access whose end passes while no replica runs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { stringify } from 'yaml';
import { asService, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { run } from '../../support/command.ts';
import { forSuite } from '../../support/for-suite.ts';
import { isAllowed } from '../../support/grants.ts';
import { aKubeconfig } from '../../support/kubeconfig.ts';
import { startServer } from '../../support/server.ts';
import { bindingsPath } from '../bindings/support.ts';
import { type AccessRequests, aliceAsksBob, mergePatch, type Request, requestsPath } from './support.ts';

/** Access begins so long ago that its end has passed for the API server, too. */
const agoMs = -700_000;

describe('access whose end passes while no replica runs', () => {
  let aheadMs = agoMs;
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } }, now: () => new Date(Date.now() + aheadMs) }));
  let access: AccessRequests;
  let directory: string;
  let config: string;
  before(async () => {
    access = await aliceAsksBob(server);
    await server.stopFirst();
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const kubeconfig = join(directory, 'kubeconfig.yaml');
    await writeFile(kubeconfig, aKubeconfig(server.cluster, await server.kubernetes.serviceToken()));
    config = join(directory, 'config.yaml');
    const kubernetes = { kubeconfig, namespace: serviceNamespace };
    await writeFile(config, stringify({ kubernetes, features: { accessRequests: true, userBindings: true } }));
  });
  after(() => rm(directory, { recursive: true }));

  const mayListPods = () => isAllowed(server.kubernetes, 'alice', { verb: 'list', group: '', resource: 'pods', ...{ namespace: 'shop' } });
  /** Gives access at a replica with that clock, which stops before the end. */
  const given = async (clockMs = agoMs): Promise<Request> => {
    aheadMs = clockMs;
    const replica = await server.replica();
    const request = await access.asked({ as: 'alice', at: replica.url });
    const { body } = await access.decide({ as: 'bob', at: replica.url }, request);
    expect(body.status, JSON.stringify(body)).to.include({ phase: 'Active' });
    await eventually(mayListPods, Boolean);
    await replica.stop();
    aheadMs = 0;
    expect(await mayListPods()).to.equal(true);
    return body;
  };
  const untilGone = async ({ metadata: { uid } }: Request) => {
    await eventually(
      () => server.kubernetes.call('GET', `${bindingsPath}/ar-${uid}`),
      ({ status }) => status === 404,
    );
    await eventually(mayListPods, (isStillAllowed) => !isStillAllowed);
  };
  const sweep = () => run(['sweep', '--config', config]);

  it('JIT-01 ends when replicas start again, and is told once', async () => {
    const request = await given();
    expect(Date.parse(request.status?.until ?? '')).to.be.below(Date.now());
    const replicas = await Promise.all([server.replica(), server.replica()]);
    expect((await access.untilPhase(request, 'Ended')).status).to.include({ reason: 'Expired' });
    await untilGone(request);
    const ends = server.auditLines.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'AccessEnded');
    expect(ends.map(({ target, reason }) => [target, reason])).to.deep.equal([[request.metadata.name, 'Expired']]);
    for (const { stop } of replicas) await stop();
  });

  it('JIT-01 ends by a sweep, which has nothing to do later', async () => {
    const request = await given();
    const { code, stdout, stderr } = await sweep();
    expect({ code, stderr }, stdout).to.deep.equal({ code: 0, stderr: '' });
    expect((await access.stored(request)).status).to.include({ phase: 'Ended', reason: 'Expired' });
    expect((await server.kubernetes.call('GET', `${bindingsPath}/ar-${request.metadata.uid}`)).status).to.equal(404);
    await untilGone(request);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ audit }) => audit === 'AccessEnded')).to.have.lengthOf(1);
    expect(lines.at(-1)?.msg).to.include(`access has ended: ${request.metadata.name}`);

    const again = await sweep();
    expect(again.code, again.stderr).to.equal(0);
    expect(again.stdout).to.include('no access has reached its end');
  });

  it('JIT-01 loses the half-done work of a replica', async () => {
    const request = await given(0);
    expect(Date.parse(request.status?.until ?? '')).to.be.above(Date.now());
    const ended = { phase: 'Ended', reason: 'EndedByUser', ended: new Date().toISOString().replace(/\.\d+Z$/, 'Z') };
    await server.kubernetes.call(
      'PATCH',
      `${requestsPath}/${request.metadata.name}/status`,
      { status: ended },
      { ...mergePatch, ...asService },
    );
    expect(await mayListPods()).to.equal(true);
    expect((await sweep()).code).to.equal(0);
    await untilGone(request);
  });

  it('is not waited for, if a finalizer of others keeps its UserBinding', async () => {
    const request = await given();
    const path = `${bindingsPath}/ar-${request.metadata.uid}`;
    const { body } = await server.kubernetes.call('GET', path);
    const { finalizers = [] } = (body as { metadata: { finalizers?: string[] } }).metadata;
    const change = (kept: readonly string[]) =>
      server.kubernetes.call('PATCH', path, { metadata: { finalizers: kept } }, { ...mergePatch, ...asService });
    expect((await change([...finalizers, 'example.com/keep'])).status).to.equal(200);
    const { code, stderr } = await sweep();
    expect(code, stderr).to.equal(0);
    await eventually(mayListPods, (isStillAllowed) => !isStillAllowed);
    expect((await change([])).status).to.equal(200);
    await untilGone(request);
  });

  it('is not swept where access requests are turned off', async () => {
    await writeFile(config, `kubernetes: {kubeconfig: ${join(directory, 'kubeconfig.yaml')}}`);
    const { code, stderr } = await sweep();
    expect(code).to.equal(2);
    expect(stderr).to.include('features.accessRequests');
  });
});
