import { runsAt } from '@atrium/embedded-cluster/workloads/cron.ts';
import { expect } from 'chai';

describe('a schedule of the embedded cluster', () => {
  const cases: [schedule: string, time: string, runs: boolean, timeZone?: string][] = [
    ['* * * * *', '2026-03-01T10:17:30Z', true],
    ['*/5 * * * *', '2026-03-01T10:15:00Z', true],
    ['*/5 * * * *', '2026-03-01T10:17:00Z', false],
    ['30 2 * * *', '2026-03-01T02:30:59Z', true],
    ['30 2 * * *', '2026-03-01T01:30:00Z', true, 'Europe/Berlin'],
    ['0 9-17 * * 1-5', '2026-03-02T09:00:00Z', true],
    ['0 9-17 * * 1-5', '2026-03-01T09:00:00Z', false],
    ['0 0 1,15 * *', '2026-03-15T00:00:00Z', true],
    ['0 0 * * sun', '2026-03-01T00:00:00Z', true],
    // kube-apiserver refuses the day 7.
    ['0 0 * * 7', '2026-03-01T00:00:00Z', false],
    ['0 0 */2 * 3', '2026-03-01T00:00:00Z', true],
    ['0 0 1-31 * 3', '2026-03-01T00:00:00Z', true],
    ['0 0 */1 * 3', '2026-03-01T00:00:00Z', false],
    ['0 0 * 4 *', '2026-03-01T00:00:00Z', false],
    ['@hourly', '2026-03-01T00:00:00Z', true],
    ['@every 1h', '2026-03-01T00:00:00Z', false],
    ['', '2026-03-01T00:00:00Z', false],
  ];
  for (const [schedule, time, runs, timeZone] of cases)
    it(`${runs ? 'runs' : 'rests'} at ${time}${timeZone ? ` in ${timeZone}` : ''}: '${schedule}'`, () =>
      expect(runsAt(schedule, new Date(time), timeZone)).to.equal(runs));
});
