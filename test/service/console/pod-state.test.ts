import { wordOf } from '@atrium/objects/object-state.ts';
import { defaultContainer, troublesOf } from '@atrium/objects/pod-containers.ts';
import { expect } from 'chai';
import { ended, pod, running, waiting } from '../../../packages/objects/test/a-pod.ts';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';

describe('the state of a node in the console', () => {
  const node = (conditions: object[], unschedulable = false, deleted = {}): ClusterObject => ({
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', resourceVersion: '1', creationTimestamp: '', ...deleted } },
    ...{ spec: { unschedulable }, status: { conditions } },
  });
  const condition = (status: string) => [{ type: 'Ready', status }];

  it('is that of its kubelet, as kubectl prints it', () => {
    expect(wordOf(node(condition('True')))).to.equal('Ready');
    expect(wordOf(node(condition('False'), true))).to.equal('NotReady,SchedulingDisabled');
    expect(wordOf(node(condition('Unknown')))).to.equal('NotReady');
    expect(wordOf(node([], true))).to.equal('Unknown,SchedulingDisabled');
    expect(wordOf(node(condition('True'), false, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).to.equal('Ready');
  });
});

describe('the diagnosis of a pod in the console', () => {
  it('names the container that is broken, with its last end', () => {
    const last = { exitCode: 137, reason: 'OOMKilled' };
    const statuses = [running('a'), waiting('b', 'CrashLoopBackOff', { lastState: { terminated: last } })];
    expect(troublesOf(pod({ statuses }))).to.deep.equal([
      { container: 'b', reason: 'CrashLoopBackOff', message: undefined, last, log: 'previous' },
    ]);
  });

  it('names the run whose log explains the trouble, and none for a container that has not run', () => {
    const lastState = { terminated: { exitCode: 1, reason: 'Error' } };
    const logs: [log: string | undefined, status: object][] = [
      [undefined, waiting('a', 'ImagePullBackOff')],
      ['previous', waiting('a', 'CrashLoopBackOff', { lastState })],
      ['current', ended('a', { exitCode: 1, reason: 'Error' })],
      ['current', { ...ended('a', { exitCode: 1, reason: 'Error' }), restartCount: 2, lastState }],
      ['previous', running('a', { ready: false, restartCount: 2, lastState })],
      ['current', running('a', { ready: false, restartCount: 2 })],
    ];
    for (const [log, status] of logs) expect(troublesOf(pod({ statuses: [status] }))[0]?.log, JSON.stringify(status)).to.equal(log);
  });

  it('reports nothing of a pod that runs, starts or is done', () => {
    for (const statuses of [[running('a')], [waiting('a', 'ContainerCreating')], [ended('a', { exitCode: 0, reason: 'Completed' })], []])
      expect(troublesOf(pod({ statuses }))).to.deep.equal([]);
  });

  it('reports no end of a sidecar or of a debug container that the pod outlives', () => {
    const killed = { exitCode: 137, reason: 'Error' };
    const init = [{ name: 's', restartPolicy: 'Always' }];
    const done = [ended('a', { exitCode: 0, reason: 'Completed' }), ended('b', { exitCode: 0, reason: 'Completed' })];
    const initStatuses = [ended('s', killed)];
    expect(troublesOf(pod({ init, initStatuses, statuses: done, status: { phase: 'Succeeded' } }))).to.deep.equal([]);
    // A pod that failed did so by its own containers.
    const failed = [ended('a', { exitCode: 2, reason: 'Error' })];
    const troubles = troublesOf(pod({ init, initStatuses, statuses: failed, status: { phase: 'Failed' } }));
    expect(troubles.map(({ container }) => container)).to.deep.equal(['a']);
    // A sidecar of a pod that goes on is restarted, and its end counts.
    expect(troublesOf(pod({ init, initStatuses }))[0]).to.include({ container: 's', reason: 'Error' });
    // An init container without that policy has to end well.
    expect(troublesOf(pod({ init: [{ name: 's' }], initStatuses, status: { phase: 'Failed' } }))[0]).to.include({ container: 's' });
  });

  it('reports a debug container that cannot start, and none that has ended', () => {
    const withDebug = (state: object) => {
      const { spec, status, ...rest } = pod({ statuses: [running('a'), running('b')] });
      return {
        ...rest,
        spec: { ...spec, ephemeralContainers: [{ name: 'd' }] },
        status: { ...status, ephemeralContainerStatuses: [{ name: 'd', state }] },
      };
    };
    expect(troublesOf(withDebug({ terminated: { exitCode: 130, reason: 'Error' } }))).to.deep.equal([]);
    expect(troublesOf(withDebug({ waiting: { reason: 'ErrImagePull' } }))[0]).to.include({ container: 'd', reason: 'ErrImagePull' });
  });

  it('reports a pod that no node takes in the words of the scheduler', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' }];
    expect(troublesOf(pod({ status: { phase: 'Pending', conditions } }))).to.deep.equal([
      { reason: 'Unschedulable', message: '0/3 nodes are available' },
    ]);
  });
});

describe('the default container of a pod in the console', () => {
  const annotated = (name: string | undefined, more: object = {}): ClusterObject => {
    const { metadata, spec, ...rest } = pod({});
    const annotations = name === undefined ? {} : { 'kubectl.kubernetes.io/default-container': name };
    return { ...rest, metadata: { ...metadata, annotations }, spec: { ...spec, ...more } };
  };

  it('is the one that its annotation names, as kubectl chooses', () => {
    expect(defaultContainer(annotated('b'))).to.equal('b');
    expect(defaultContainer(annotated('i', { initContainers: [{ name: 'i' }] }))).to.equal('i');
    expect(defaultContainer(annotated('e', { ephemeralContainers: [{ name: 'e' }] }))).to.equal('e');
  });

  it('is the first one without the annotation, and if it names none', () => {
    for (const name of [undefined, '', 'gone']) expect(defaultContainer(annotated(name)), name).to.equal('a');
    expect(defaultContainer(annotated('gone', { containers: [] }))).to.equal(undefined);
  });
});
