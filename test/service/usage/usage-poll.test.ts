import { badRequest } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { pino } from 'pino';
import type { Measured } from '../../../src/usage/schema.ts';
import { UsagePoll } from '../../../src/usage/usage-poll.ts';
import { pointMs, type Sample } from '../../../src/usage/usage-ring.ts';

const log = pino({ level: 'silent' });

/** A poll whose pauses end when the test says so. */
function paused(measure: (resource: Measured) => Promise<Sample[]>) {
  let time = Date.parse('2026-03-01T12:00:10Z');
  const pauses: number[] = [];
  let waiting = Promise.withResolvers<void>();
  let resume = () => {};
  const poll = new UsagePoll({
    measure,
    log,
    now: () => new Date(time),
    pause: (ms, signal) =>
      new Promise((resolve) => {
        pauses.push(ms);
        resume = () => {
          time += ms;
          resolve();
        };
        signal.addEventListener('abort', () => resolve());
        waiting.resolve();
      }),
  });
  return {
    poll,
    pauses,
    /** Waits for the end of a round, and begins the next one. */
    async next() {
      await waiting.promise;
      waiting = Promise.withResolvers();
      resume();
    },
    round: () => waiting.promise,
  };
}

describe('the poll of usage', () => {
  it('measures nodes and pods one after the other, once in each minute', async () => {
    let open = 0;
    const asked: Measured[] = [];
    const { poll, pauses, next, round } = paused(async (resource) => {
      expect(open).to.equal(0);
      open += 1;
      asked.push(resource);
      await Promise.resolve();
      open -= 1;
      return [{ key: resource, labels: {}, cpu: 1, memory: 1 }];
    });
    poll.start();
    await next();
    await next();
    await round();
    await poll.stop();
    expect(asked).to.deep.equal(['nodes', 'pods', 'nodes', 'pods', 'nodes', 'pods']);
    for (const ms of pauses) expect(ms).to.be.within(pointMs - 10_000, pointMs + 5_000);
    expect(poll.rings.pods.sums(new Date('2026-03-01T12:02:30Z'), () => true).map(({ count }) => count)).to.deep.equal([1, 1, 1]);
    expect(poll.absence('pods')).to.equal(undefined);
  });

  it('waits longer after each failure, up to eight minutes, and says why there are no figures', async () => {
    let isBroken = true;
    const { poll, pauses, next, round } = paused(async () => {
      if (isBroken) throw badRequest('broken');
      return [];
    });
    expect(poll.absence('pods')).to.equal('NotMeasuredYet');
    poll.start();
    for (let index = 0; index < 5; index += 1) await next();
    isBroken = false;
    expect(poll.absence('pods')).to.equal('Unavailable');
    await next();
    await round();
    await poll.stop();
    expect(pauses.map((ms) => Math.round(ms / pointMs))).to.deep.equal([1, 2, 4, 8, 8, 8, 1]);
    expect(poll.absence('pods')).to.equal(undefined);
  });
});
