import { usersOf } from '@atrium/objects/used-by.ts';
import { expect } from 'chai';
import { conditionRows } from '../../../web/src/pages/cluster/sections/conditions/conditions.ts';
import { leaseState } from '../../../web/src/pages/cluster/sections/limits/lease.ts';
import { metricRows } from '../../../web/src/pages/cluster/sections/limits/metrics.ts';
import { sourceOf } from '../../../web/src/pages/cluster/sections/storage/volumes.ts';

const object = (members: object) => ({
  ...{ apiVersion: 'v1', kind: 'Any', metadata: { name: 'one', resourceVersion: '1', creationTimestamp: '' } },
  ...members,
});

describe('conditions in the console', () => {
  const tones = (...conditions: object[]) => conditionRows(conditions).map(({ name, tone }) => [name, tone]);

  it('are words, and good or bad by their type, problems first', () => {
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'MemoryPressure', status: 'False' },
      { type: 'PIDPressure', status: 'True' },
      { type: 'Available', status: 'Unknown' },
      { type: 'ContainersReady', status: 'False' },
    ];
    expect(tones(...conditions)).to.deep.equal([
      ['PID pressure', 'bad'],
      ['Containers ready', 'bad'],
      ['Available', 'warn'],
      ['Ready', 'ok'],
      ['Memory pressure', 'ok'],
    ]);
  });

  it('are not judged where the type does not tell, nor of a pod that has done its work', () => {
    expect(tones({ type: 'Suspended', status: 'True' }, { type: 'Ready', status: 'False', reason: 'PodCompleted' })).to.deep.equal([
      ['Suspended', undefined],
      ['Ready', undefined],
    ]);
  });

  it('are not a failure during or after a rollout, and not green before the controller has seen the object', () => {
    const progressing = (status: string, reason: string) => ({ type: 'Progressing', status, reason });
    expect(tones(progressing('False', 'AsExpected'), progressing('False', 'ProgressDeadlineExceeded'))).to.deep.equal([
      ['Progressing', 'bad'],
      ['Progressing', undefined],
    ]);
    const [row] = conditionRows([{ type: 'Ready', status: 'True', observedGeneration: 1 }], 2);
    expect(row).to.deep.include({ type: 'Ready', isUnseen: true }).and.not.to.have.property('tone');
  });

  it('survive any shape, and are bounded', () => {
    expect(conditionRows([null, 7, { type: 1, status: {}, lastTransitionTime: 'never' }])).to.deep.equal([
      { type: '', name: '', status: 'Unknown', reason: '', message: '', since: undefined },
    ]);
    expect(conditionRows(Array.from({ length: 500 }, () => ({})))).to.have.lengthOf(100);
    expect(conditionRows('Ready')).to.deep.equal([]);
  });
});

describe('metrics of an autoscaler in the console', () => {
  it('are paired by name, and unknown where the status leaves one out', () => {
    const resource = (name: string, target: object) => ({ type: 'Resource', resource: { name, target } });
    const scaler = object({
      spec: {
        metrics: [
          { type: 'Pods', pods: { metric: { name: 'requests' }, target: { averageValue: '500m' } } },
          resource('cpu', { averageUtilization: 80 }),
          resource('memory', { averageValue: '1Gi' }),
        ],
      },
      status: {
        currentMetrics: [
          { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 40, averageValue: '20m' } } },
          { type: 'Resource', resource: { name: 'memory', current: { averageUtilization: 40, averageValue: '512Mi' } } },
        ],
      },
    });
    const rows = metricRows(scaler).map(({ name, current, target, currentValue, targetValue }) => [
      name,
      current,
      target,
      currentValue / targetValue,
    ]);
    expect(rows).to.deep.equal([
      ['requests', undefined, '500m', 0],
      ['cpu', '40 %', '80 %', 0.5],
      ['memory', '512Mi', '1Gi', 0.5],
    ]);
    expect(metricRows(object({}))).to.deep.equal([]);
  });
});

describe('a Lease in the console', () => {
  const renewTime = '2026-01-01T00:00:00.000000Z';
  const state = (spec: object, seconds: number) => leaseState(object({ spec }), Date.parse(renewTime) + seconds * 1000).state;

  it('is held until its duration has passed since the last renewal', () => {
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime };
    expect([state(spec, 14), state(spec, 16)]).to.deep.equal(['held', 'expired']);
  });

  it('is free without a holder, and unknown without a time', () => {
    expect([state({ leaseDurationSeconds: 15, renewTime }, 0), state({ holderIdentity: 'a' }, 0)]).to.deep.equal(['free', 'unknown']);
  });
});

describe('volumes in the console', () => {
  it('name the claims of a pod, also of ephemeral volumes', () => {
    const volumes = [
      { name: 'data', persistentVolumeClaim: { claimName: 'disk' } },
      { name: 'scratch', ephemeral: {} },
      { name: 'tmp', emptyDir: {} },
    ];
    const pod = object({ kind: 'Pod', spec: { volumes } });
    const placesOf = (name: string, user: object) => usersOf({ kind: 'PersistentVolumeClaim', name }, [user]).map(({ by }) => by);

    expect(placesOf('disk', pod)).to.deep.equal([['volume data']]);
    expect(placesOf('one-scratch', pod)).to.deep.equal([['volume scratch']]);
    for (const name of ['settings', 'scratch', 'tmp', 'one-data', 'one-tmp']) expect(placesOf(name, pod)).to.deep.equal([]);
    expect(placesOf('disk', object({ kind: 'Pod' }))).to.deep.equal([]);
  });

  it('name their source', () => {
    expect(sourceOf(object({ spec: { csi: { driver: 'disks.example.com', volumeHandle: 'v-1' } } }))).to.equal('csi disks.example.com v-1');
    expect(sourceOf(object({ spec: { capacity: {} } }))).to.equal('');
  });
});
