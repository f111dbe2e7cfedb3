import { expect } from 'chai';
import { Problem } from '../../../web/src/api/problem.ts';
import { Drain } from '../../../web/src/pages/cluster/sections/node/drain.ts';
import { drainCommand, drainPlan } from '../../../web/src/pages/cluster/sections/node/drain-plan.ts';

const owner = (kind: string) => ({ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true });

const pod = (name: string, { metadata = {}, ...more }: Record<string, object> = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', spec: {}, status: { phase: 'Running' } },
  ...more,
  metadata: { ...{ name, namespace: 'shop', uid: `u-${name}`, resourceVersion: '1', creationTimestamp: '' }, ...metadata },
});

const replicated = { metadata: { ownerReferences: [owner('ReplicaSet')] } };
const withData = { spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } };

describe('the plan of a drain in the console', () => {
  const words = (...pods: ReturnType<typeof pod>[]) => drainPlan(pods).map(({ stays, loses }) => stays ?? loses.join());

  it('leaves pods of DaemonSets and mirror pods, and asks before data or lone pods are lost', () => {
    expect(
      words(
        pod('web', replicated),
        pod('agent', { metadata: { ownerReferences: [owner('DaemonSet')] }, ...withData }),
        pod('etcd', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }),
        pod('cache', { ...replicated, ...withData }),
        pod('lone', withData),
        pod('done', { ...withData, status: { phase: 'Succeeded' } }),
      ),
    ).to.deep.equal(['', 'daemonSet', 'mirror', 'emptyDir', 'emptyDir,noController', '']);
  });

  it('names the flags of kubectl that it needs', () => {
    expect(drainCommand('n1', drainPlan([pod('web', replicated)]))).to.equal('kubectl drain n1 --ignore-daemonsets');
    expect(drainCommand('n1', drainPlan([pod('lone', withData)]))).to.equal(
      'kubectl drain n1 --ignore-daemonsets --delete-emptydir-data --force',
    );
  });
});

describe('a drain in the console', () => {
  const refusal = (status: number, message: string, reason = '') => new Problem(status, { message, reason });
  const missing = (name: string) => new Problem(404, { message: `${name} not found`, reason: 'NotFound', details: { name } });
  const states = ({ progress }: Drain) => [...progress.value.values()];

  it('waits for a PodDisruptionBudget, and ends once the pod is gone', async () => {
    const seen: unknown[] = [];
    const refusals = [refusal(429, 'The disruption budget web needs 1'), refusal(429, 'The disruption budget web needs 1')];
    const looks = [true, false];
    const drain: Drain = new Drain([pod('web', replicated)], {
      evict: () => {
        const refused = refusals.pop();
        return refused ? Promise.reject(refused) : Promise.resolve();
      },
      isGone: () => Promise.resolve(looks.pop() ?? true),
      pause: async (ms) => void seen.push([ms, ...states(drain)]),
    });
    const isEmpty = await drain.run();

    const blocked = { state: 'blocked', message: 'The disruption budget web needs 1' };
    expect(seen).to.deep.equal([
      [5000, blocked],
      [5000, blocked],
      [1000, { state: 'leaving' }],
    ]);
    expect([isEmpty, ...states(drain)]).to.deep.equal([true, { state: 'gone' }]);
  });

  it('is cancelled between retries, and evicts no further pod', async () => {
    const evicted: string[] = [];
    const pods = Array.from({ length: 8 }, (_, index) => pod(`p${index}`, replicated));
    const drain: Drain = new Drain(pods, {
      evict: ({ metadata }) => {
        evicted.push(metadata.name);
        return Promise.reject(refusal(429, 'later'));
      },
      isGone: () => Promise.resolve(false),
      pause: async (_, signal) => {
        drain.cancel();
        signal.throwIfAborted();
      },
    });

    expect(await drain.run()).to.equal(false);
    expect(evicted).to.have.length.at.most(5);
    expect(new Set(states(drain).map(({ state }) => state))).to.deep.equal(new Set(['cancelled']));
  });

  it('reports a refusal of one pod and continues with the others', async () => {
    const refusals = new Map([
      ['a', refusal(403, 'may not')],
      ['b', missing('b')],
      ['c', missing('shop')],
      ['d', refusal(404, 'a page')],
    ]);
    const drain = new Drain([pod('a'), pod('b'), pod('c'), pod('d')], {
      evict: ({ metadata }) => Promise.reject(refusals.get(metadata.name)),
      isGone: () => Promise.resolve(false),
      pause: () => Promise.resolve(),
    });

    expect(await drain.run()).to.equal(false);
    expect(states(drain)).to.deep.equal([
      { state: 'failed', message: 'may not' },
      { state: 'gone' },
      { state: 'failed', message: 'shop not found' },
      { state: 'failed', message: 'a page' },
    ]);
  });
});
