import { expect } from 'chai';
import { Deadlines, type Due } from '../../../src/http/shared-timer.ts';
import { eventually } from '../../support/cluster-admin.ts';

describe('deadlines', () => {
  it('come in their order, none early, and none that was taken back', async () => {
    const deadlines = new Deadlines();
    const begun = performance.now();
    const came: { name: string; after: number }[] = [];
    const entry = (name: string): Due => ({ due: () => came.push({ name, after: performance.now() - begun }) });
    const moved = entry('moved');
    const cleared = entry('cleared');

    deadlines.set(entry('late'), 210);
    deadlines.set(moved, 20);
    deadlines.set(cleared, 30);
    deadlines.set(entry('soon'), 60);
    deadlines.set(moved, 120);
    deadlines.clear(cleared);
    await eventually(
      async () => came,
      ({ length }) => length === 3,
    );

    expect(came.map(({ name }) => name)).to.deep.equal(['soon', 'moved', 'late']);
    for (const [index, earliest] of [60, 120, 210].entries()) expect(came[index]?.after).to.be.at.least(earliest);
  });

  it('may be set again by what is due, also after there was nothing to wait for', async () => {
    const deadlines = new Deadlines();
    let count = 0;
    const entry: Due = {
      due() {
        count += 1;
        if (count === 1) deadlines.set(entry, 10);
      },
    };
    const until = (wanted: number) =>
      eventually(
        async () => count,
        (now) => now === wanted,
      );

    deadlines.set(entry, 10);
    await until(2);
    deadlines.set(entry, 10);
    await until(3);
  });
});
