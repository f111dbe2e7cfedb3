import { expect } from 'chai';
import { Histogram, Registry } from 'prom-client';
import { Durations } from '../../../src/http/durations.ts';

describe('durations', () => {
  it('are told as those of prom-client, value by value', async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const options = { name: 'd', help: 'D.', labelNames: ['operation', 'code'] as ['operation', 'code'], buckets: [0.01, 0.5, 1] };
    const durations = new Durations({ ...options, registers: [ours] });
    const histogram = new Histogram({ ...options, registers: [theirs] });
    for (const [operation, code, seconds] of [
      ['ListUsers', 200, 0.002],
      ['ListUsers', 200, 0.01],
      ['ListUsers', 200, 7],
      ['ListUsers', 404, 0.6],
      ['none', 404, 0.5],
    ] as const) {
      durations.add(operation, code, seconds);
      histogram.observe({ operation, code }, seconds);
    }

    expect(await ours.metrics()).to.equal(await theirs.metrics());
  });
});
