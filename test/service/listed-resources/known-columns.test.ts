import { expect } from 'chai';
import { describe, it } from 'mocha';
import { knownColumns } from '../../../src/listed-resources/known-columns.ts';

const valuesOf = (group: string, resource: string, status: object) => {
  const metadata = { name: 'one', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-12T08:30:00Z' };
  const columns = knownColumns({ group, version: 'v1', resource });
  return Object.fromEntries(columns.map(({ name, read }) => [name, read({ metadata, spec: {}, status })]));
};

describe('columns of workloads', () => {
  it('are 0 where the API server leaves out a number of replicas or pods', () => {
    expect(valuesOf('apps', 'deployments', {})).to.include({ ready: 0, updated: 0, available: 0 });
    expect(valuesOf('apps', 'deployments', { readyReplicas: 2 })).to.include({ ready: 2, available: 0 });
    expect(valuesOf('apps', 'statefulsets', {})).to.include({ ready: 0, updated: 0 });
    expect(valuesOf('batch', 'jobs', {})).to.include({ succeeded: 0, completions: null });
  });
});

describe('columns of pods', () => {
  const running = { ready: true, started: true, restartCount: 1, state: { running: {} } };
  const podOf = (spec: object, status: object) => {
    const metadata = { name: 'one', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-12T08:30:00Z' };
    const columns = knownColumns({ group: '', version: 'v1', resource: 'pods' });
    return Object.fromEntries(columns.map(({ name, read }) => [name, read({ metadata, spec, status })]));
  };

  it('count sidecars as kubectl does', () => {
    const spec = { containers: [{ name: 'main' }], initContainers: [{ name: 'proxy', restartPolicy: 'Always' }, { name: 'migrate' }] };
    const migrated = { name: 'migrate', restartCount: 4, state: { terminated: { exitCode: 0, reason: 'Completed' } } };
    const proxy = { name: 'proxy', ...running };

    const values = podOf(spec, {
      phase: 'Running',
      initContainerStatuses: [proxy, migrated],
      containerStatuses: [{ name: 'main', ...running }],
    });
    expect(values).to.include({ status: 'Running', ready: '2/2', restarts: 2 });
    const waiting = { name: 'migrate', restartCount: 4, state: { waiting: { reason: 'CrashLoopBackOff' } } };
    const early = podOf(spec, { phase: 'Pending', initContainerStatuses: [proxy, waiting] });
    expect(early).to.include({ status: 'Init:CrashLoopBackOff', ready: '1/2', restarts: 5 });
  });

  it('say what a pod waits for, also where the status lacks members', () => {
    const spec = { containers: [{ name: 'main' }] };
    const scheduled = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' };

    expect(podOf(spec, {})).to.include({ status: 'Unknown', ready: '0/1', restarts: 0 });
    expect(podOf(spec, { phase: 'Pending', conditions: [scheduled] })).to.include({ status: 'SchedulingGated' });
    const ended = { state: { terminated: { exitCode: 137, signal: 9 } } };
    expect(podOf(spec, { phase: 'Failed', containerStatuses: [ended] })).to.include({ status: 'Signal:9' });
  });
});
