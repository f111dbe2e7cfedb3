import { podState } from '@atrium/objects/pod-state.ts';
import { expect } from 'chai';
import { ended, type Given, pod, running, waiting } from './a-pod.ts';

const ready = { conditions: [{ type: 'Ready', status: 'True' }] };

describe('podState', () => {
  const cases: [word: string, given: Given][] = [
    ['Running', { statuses: [running('a'), running('b')] }],
    ['Pending', { status: { phase: 'Pending' } }],
    ['CrashLoopBackOff', { statuses: [running('a'), waiting('b', 'CrashLoopBackOff')] }],
    ['ErrImagePull', { statuses: [waiting('a', 'ErrImagePull'), waiting('b', 'ContainerCreating')] }],
    ['Completed', { statuses: [ended('a', { exitCode: 0, reason: 'Completed' }), ended('b', { exitCode: 0, reason: 'Completed' })] }],
    ['Running', { statuses: [ended('a', { exitCode: 0, reason: 'Completed' }), running('b')], status: ready }],
    ['NotReady', { statuses: [ended('a', { exitCode: 0, reason: 'Completed' }), running('b')] }],
    ['Error', { statuses: [ended('a', { exitCode: 0, reason: 'Completed' }), ended('b', { exitCode: 2, reason: 'Error' })] }],
    ['Init:0/1', { init: [{ name: 's', restartPolicy: 'Always' }], initStatuses: [running('s')] }],
    ['ExitCode:3', { statuses: [ended('a', { exitCode: 3 })], status: { phase: 'Failed' } }],
    ['Signal:9', { statuses: [ended('a', { exitCode: 137, signal: 9 })], status: { phase: 'Failed' } }],
    ['Evicted', { status: { phase: 'Failed', reason: 'Evicted' } }],
    ['Terminating', { deleted: true, statuses: [running('a'), running('b')] }],
    ['Unknown', { deleted: true, status: { reason: 'NodeLost' } }],
    ['Init:0/1', { init: [{ name: 'i' }], initStatuses: [running('i')] }],
    ['Init:CrashLoopBackOff', { init: [{ name: 'i' }], initStatuses: [waiting('i', 'CrashLoopBackOff')] }],
    ['Init:Error', { init: [{ name: 'i' }], initStatuses: [ended('i', { exitCode: 1, reason: 'Error' })] }],
    [
      'Running',
      {
        init: [{ name: 's', restartPolicy: 'Always' }],
        initStatuses: [running('s', { started: true })],
        statuses: [running('a'), running('b')],
      },
    ],
    [
      'SchedulingGated',
      { status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] } },
    ],
  ];
  for (const [index, [word, given]] of cases.entries())
    it(`is ${word}, as kubectl prints it (${index})`, () => expect(podState(pod(given)).word).to.equal(word));

  it('counts ready containers, sidecars and restarts', () => {
    const init = [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }];
    const initStatuses = [running('s', { started: true, restartCount: 2 }), ended('i', { exitCode: 0 })];
    const statuses = [
      running('a', { restartCount: 1, lastState: { terminated: { finishedAt: '2026-01-01T00:00:00Z' } } }),
      waiting('b', 'Error'),
    ];
    const { word: _, ...counts } = podState(pod({ init, initStatuses, statuses }));
    expect(counts).to.deep.equal({ ready: 2, total: 3, restarts: 3, lastRestartAt: '2026-01-01T00:00:00Z' });
  });

  it('reads malformed objects', () => {
    const empty = { word: 'Unknown', ready: 0, total: 0, restarts: 0, lastRestartAt: undefined };
    for (const object of [
      undefined,
      null,
      7,
      'pod',
      [],
      {},
      { status: [], spec: 7 },
      { status: { containerStatuses: {}, conditions: [null] } },
    ])
      expect(podState(object), JSON.stringify(object)).to.deep.equal(empty);
    const statuses = [7, null, { name: 7, ready: 'yes', restartCount: 'x', state: { terminated: [] }, lastState: 7 }];
    expect(podState({ status: { phase: 7, containerStatuses: statuses } })).to.deep.equal(empty);
  });
});
