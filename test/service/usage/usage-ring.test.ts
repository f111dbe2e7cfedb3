import { expect } from 'chai';
import { pointCount, pointMs, type Sample, TooManySeries, UsageRing } from '../../../src/usage/usage-ring.ts';

const begin = Date.parse('2026-03-01T12:00:00Z');
const at = (minute: number, seconds = 0) => new Date(begin + minute * pointMs + seconds * 1000);
const sample = (key: string, cpu = 1, memory = 1024): Sample => ({ key, labels: { app: key.split('-')[0] ?? '' }, cpu, memory });
const all = () => true;

describe('the ring of usage', () => {
  it('begins with the first measurement, and draws no zero before it', () => {
    const ring = new UsageRing();
    expect(ring.since).to.equal(undefined);
    expect(ring.sums(at(0), all)).to.deep.equal([]);
    ring.add(at(10, 12), [sample('a', 2, 4096), sample('b')]);
    expect(ring.since).to.equal(at(10).getTime() / 1000);
    expect(ring.sums(at(10, 30), all)).to.deep.equal([{ time: at(10).getTime() / 1000, count: 2, cpu: 3, memory: 5120 }]);
  });

  it('tells a minute without a measurement from one without the pod', () => {
    const ring = new UsageRing();
    ring.add(at(0), [sample('a'), sample('b', 5)]);
    ring.add(at(2), [sample('a')]);
    ring.add(at(3), []);
    const counts = (fits: (key: string) => boolean) => ring.sums(at(4), fits).map(({ count, cpu }) => [count, cpu]);
    expect(counts(all)).to.deep.equal([
      [2, 6],
      [null, null],
      [1, 1],
      [0, null],
    ]);
    expect(counts((key) => key === 'b')).to.deep.equal([
      [1, 5],
      [null, null],
      [0, null],
      [0, null],
    ]);
    expect(ring.sums(at(5), all))
      .to.have.length(5)
      .and.to.deep.include({ time: at(4).getTime() / 1000, count: null, cpu: null, memory: null });
  });

  it('keeps an hour, forgets series that ended before it, and gives their place to others without their figures', () => {
    const ring = new UsageRing();
    ring.add(at(0), [sample('old', 7)]);
    for (let minute = 1; minute <= pointCount; minute += 1) ring.add(at(minute), [sample('a', minute)]);
    expect(ring.size).to.equal(1);
    ring.add(at(pointCount + 1), [sample('a'), sample('new', 3)]);
    const points = ring.sums(at(pointCount + 1), all);
    expect(points).to.have.length(pointCount);
    expect(points[0]).to.deep.include({ time: at(2).getTime() / 1000, cpu: 2 });
    const fresh = ring.sums(at(pointCount + 1), (key) => key === 'new');
    expect(fresh.map(({ cpu }) => cpu).filter((cpu) => cpu !== null)).to.deep.equal([3]);
  });

  it('ignores a second measurement of a minute, and one of an earlier time', () => {
    const ring = new UsageRing();
    ring.add(at(5), [sample('a', 1)]);
    ring.add(at(5, 40), [sample('a', 9)]);
    ring.add(at(3), [sample('a', 9)]);
    expect(ring.sums(at(5), all).map(({ cpu }) => cpu)).to.deep.equal([1]);
  });

  it('takes one of several samples with the same name, and mixes it with no other series', () => {
    const ring = new UsageRing();
    ring.add(at(0), [sample('a', 1), sample('a', 2), sample('b', 5)]);
    ring.add(at(1), [sample('a', 2), sample('b', 5), sample('c', 9)]);
    const of = (name: string) => ring.sums(at(1), (key) => key === name).map(({ cpu }) => cpu);
    expect([of('a'), of('b'), of('c')]).to.deep.equal([
      [2, 2],
      [5, 5],
      [null, 9],
    ]);
    expect(ring.size).to.equal(3);
  });

  it('has a bound of series: those that ended make room, and the hour then begins after them', () => {
    const ring = new UsageRing(3);
    ring.add(at(0), [sample('job-1'), sample('a')]);
    ring.add(at(1), [sample('job-2'), sample('a')]);
    ring.add(at(2), [sample('job-3'), sample('a')]);
    expect(ring.size).to.equal(3);
    expect(ring.since).to.equal(at(1).getTime() / 1000);
    expect(ring.sums(at(2), all).map(({ count }) => count)).to.deep.equal([2, 2]);
    expect(() =>
      ring.add(
        at(3),
        ['a', 'b', 'c', 'd'].map((key) => sample(key)),
      ),
    ).to.throw(TooManySeries);
    expect(ring.size).to.equal(3);
  });

  it('keeps 5,000 pods in less than 2.5 MiB, and does not grow when they are replaced', () => {
    const ring = new UsageRing();
    const pods = (generation: number) => Array.from({ length: 5000 }, (_, index) => sample(`shop/web-${generation}-${index}`));
    ring.add(at(0), pods(0));
    expect(ring.bytes).to.be.lessThan(2.5 * 1024 ** 2);
    for (let minute = 1; minute < 300; minute += 1) ring.add(at(minute), pods(Math.floor(minute / 100)));
    expect(ring.size).to.equal(5000);
    expect(ring.bytes).to.be.lessThan(5 * 1024 ** 2);
  });
});
