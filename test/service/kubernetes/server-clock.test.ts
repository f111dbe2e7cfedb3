/** A replica whose clock is wrong, by the Date headers of the API server. */
import { ServerClock } from '@atrium/kubernetes/clock.ts';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { type FaultyServer, startFaultyServer } from '../../support/faulty-server.ts';

const minuteMs = 60_000;

describe('FLT-12 a clock that differs from the API server’s', () => {
  let server: FaultyServer;
  afterEach(() => server.stop());

  /** Starts a replica whose clock is ahead of the API server's by some minutes. */
  const startBehind = async (minutes: number) => {
    server = await startFaultyServer({}, (faults) =>
      faults.inject(({ pass, response }) =>
        pass((answer) => {
          const date = new Date(Date.now() - minutes * minuteMs).toUTCString();
          response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'], date });
          response.flushHeaders();
          answer.pipe(response);
        }),
      ),
    );
  };
  const report = async () => {
    const response = await fetch(`${server.metricsURL}/readyz?verbose`);
    return { status: response.status, text: await response.text() };
  };

  for (const [minutes, said] of [
    [3 * 24 * 60, '4320 minutes ahead of'],
    [-20, '20 minutes behind'],
  ] as const)
    it(`is reported by readyz, which stays ready: ${said}`, async () => {
      await startBehind(minutes);

      const { status, text } = await eventually(report, (found) => found.text.includes('[-]clock'));

      expect(status).to.equal(200);
      expect(text.split('\n').find((line) => line.includes('clock'))).to.equal(
        `[-]clock failed (not critical): the clock here is ${said} that of kubernetes`,
      );
    });

  it('is ignored within ordinary clock differences', async () => {
    await startBehind(2);

    expect((await report()).text).to.include('[+]clock ok');
  });
});

describe('S14 the clock of the API server', () => {
  const start = Date.UTC(2026, 0, 1);
  let wall: number;
  let clock: ServerClock;
  beforeEach(() => {
    wall = start;
    clock = new ServerClock(() => new Date(wall));
  });
  /** Notes an answer that arrives at once. */
  const hear = (time: number) => clock.note(new Date(time).toUTCString(), performance.now());
  const aheadOf = (time: number) => clock.now().getTime() - time;

  it('S14 is that of the machine before the first answer, and while answers agree with it', () => {
    expect(aheadOf(start)).to.equal(0);
    clock.note(undefined, performance.now());
    clock.note('yesterday', performance.now());
    expect(aheadOf(start)).to.equal(0);
    hear(start);
    expect(aheadOf(start)).to.equal(0);
    wall += 10;
    expect(aheadOf(start)).to.equal(10);
  });

  for (const [minutes, where] of [
    [4, 'ahead'],
    [-4, 'behind'],
  ] as const)
    it(`S14 is never ahead of the time of the API server, where the machine is 4 minutes ${where}`, () => {
      wall += minutes * minuteMs;
      hear(start);
      expect(aheadOf(start)).to.be.within(0, 1000);
      expect(clock.isTrusted).to.equal(true);
    });

  it('S14 does not follow a wall clock that is set', () => {
    hear(start);
    for (const minutes of [4, -8, 60]) {
      wall += minutes * minuteMs;
      expect(aheadOf(start)).to.be.within(0, 1000);
    }
  });

  it('S14 follows an API server whose clock is set, from its next answer on', () => {
    for (const minutes of [0, 10, -10]) {
      hear(start + minutes * minuteMs);
      expect(aheadOf(start + minutes * minuteMs)).to.be.within(0, 1000);
    }
  });

  it('S14 learns nothing wrong from an answer that was under way for long', () => {
    hear(start);
    clock.note(new Date(start - minuteMs).toUTCString(), performance.now() - minuteMs);
    expect(aheadOf(start)).to.equal(0);
  });
});
