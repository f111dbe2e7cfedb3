import { humanDuration } from '@atrium/objects/duration.ts';
import { secondsIn } from '@atrium/objects/go-duration.ts';
import { expect } from 'chai';

describe('secondsIn', () => {
  it('reads ages of kubectl and durations of Go, and no other text', () => {
    expect(['5m', '1d1d', '5', 'm', '1 h', '1h-5m'].map(secondsIn)).to.deep.equal([
      ...[300, 172_800, undefined, undefined, undefined, undefined],
    ]);
  });
});

describe('humanDuration', () => {
  it('prints two units only where kubectl does', () => {
    expect([0, 119, 120, 330, 600, 10_800, 11_100, 172_800, 180_000, 900_000, 63_072_000, 70_000_000].map(humanDuration)).to.deep.equal([
      ...['0s', '119s', '2m', '5m30s', '10m', '3h', '3h5m', '2d', '2d2h', '10d', '2y', '2y80d'],
    ]);
    expect([-1, -2].map(humanDuration)).to.deep.equal(['0s', '<invalid>']);
  });
});
