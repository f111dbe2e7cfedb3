import { Progress } from '@atrium/kubernetes/controllers/controller.ts';
import { expect } from 'chai';

describe('the progress of a backlog', () => {
  /** Reconciles all keys of a queue. @param msEach time of each of them */
  const reconcile = (keys: number, msEach: number) => {
    let now = 0;
    const reports: { percent: number; done: number; waiting: number }[] = [];
    const counts: number[] = [];
    const progress = new Progress(
      (step) => reports.push(step),
      () => now,
    );
    for (let waiting = keys - 1; waiting >= 0; waiting -= 1) {
      now += msEach;
      progress.step(waiting);
      counts.push(progress.done);
    }
    return { reports, counts };
  };

  it('is reported in steps of ten percent, up to the end', () => {
    const { reports } = reconcile(6_667, 45);

    expect(reports.length).to.be.within(10, 12);
    expect(reports.at(-1)).to.deep.equal({ percent: 100, done: 6_667, waiting: 0 });
  });

  it('is not reported by a new leader that has nothing to write', () => {
    expect(reconcile(6_667, 0.1).reports).to.deep.equal([]);
  });

  it('is not reported of a few keys, however slow they are', () => {
    expect(reconcile(99, 1_000).reports).to.deep.equal([]);
  });

  it('counts the processed keys until the backlog ends', () => {
    const { counts } = reconcile(200, 45);

    expect([counts[0], counts[150], counts[198], counts[199]]).to.deep.equal([1, 151, 199, 0]);
  });
});
