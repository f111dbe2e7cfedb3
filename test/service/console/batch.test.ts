import { jobState } from '@atrium/objects/job-state.ts';
import { wordOf } from '@atrium/objects/object-state.ts';
import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { durationText, secondsText } from '../../../web/src/pages/cluster/sections/batch/seconds.ts';

const job = (spec: object, status: object, metadata: object = {}): ClusterObject => ({
  ...{ apiVersion: 'batch/v1', kind: 'Job', spec: { ...spec }, status: { ...status } },
  metadata: { name: 'report', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
});

describe('the state of a Job in the console', () => {
  const now = new Date('2026-01-01T00:10:00Z');
  const startTime = '2026-01-01T00:00:00Z';
  const condition = (type: string) => ({
    type,
    status: 'True',
    reason: 'BackoffLimitExceeded',
    lastTransitionTime: '2026-01-01T00:02:00Z',
  });

  it('is the last word of its conditions, and its duration ends with it', () => {
    expect(jobState(job({}, { startTime, completionTime: '2026-01-01T00:03:12Z', conditions: [condition('Complete')] }), now)).to.include({
      ...{ word: 'Complete', seconds: 192, wanted: 1 },
    });
    expect(jobState(job({}, { startTime, failed: 7, conditions: [condition('Failed')] }), now)).to.include({
      ...{ word: 'Failed', seconds: 120, failed: 7, reason: 'BackoffLimitExceeded' },
    });
  });

  it('is that of its pods before its end', () => {
    expect(jobState(job({ completions: 5 }, { startTime, active: 2, succeeded: 3 }), now)).to.include({
      ...{ word: 'Running', seconds: 600, wanted: 5, succeeded: 3 },
    });
    expect(jobState(job({}, {}), now))
      .to.include({ word: 'Running' })
      .and.not.to.have.property('seconds');
    expect(jobState(job({ suspend: true }, { conditions: [condition('Suspended')] }), now)).to.include({ word: 'Suspended' });
  });

  it('follows the order of kubectl: its end, its deletion, then the reason of its wait', () => {
    const deletionTimestamp = '2026-01-01T00:05:00Z';
    const cases: [word: string, conditions: readonly string[], deleted?: true][] = [
      ['Complete', ['SuccessCriteriaMet', 'Complete'], true],
      ['Failed', ['FailureTarget', 'Failed'], true],
      ['Terminating', ['Suspended'], true],
      ['Terminating', [], true],
      ['FailureTarget', ['FailureTarget']],
      ['SuccessCriteriaMet', ['SuccessCriteriaMet']],
      ['Running', []],
    ];
    for (const [word, types, deleted] of cases) {
      const given = job({}, { startTime, conditions: types.map(condition) }, deleted && { deletionTimestamp });
      expect(wordOf(given), `${types} ${deleted}`).to.equal(word);
    }
    const failing = jobState(job({}, { startTime, active: 2, conditions: [condition('FailureTarget')] }), now);
    // The duration counts on until the pods have ended.
    expect(failing).to.include({ isFailing: true, reason: 'BackoffLimitExceeded', seconds: 600 });
  });

  it('has deadlines of an int64, and none for a field that is not set', () =>
    expect([120, 9_007_199_254_740_993n, 0, undefined, 1.5, '5'].map(secondsText)).to.deep.equal([
      ...['2m', '104249991374d7h', '0s', undefined, undefined, undefined],
    ]));

  it('has durations in two units', () =>
    expect([0, 59, 192, 3600, 90_061].map(durationText)).to.deep.equal(['0s', '59s', '3m12s', '1h', '1d1h']));
});
