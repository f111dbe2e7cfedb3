import { nextRun, parseSchedule } from '@atrium/objects/schedule.ts';
import { expect } from 'chai';

const next = (text: string, after: string, zone = 'UTC') => {
  const schedule = parseSchedule(text);
  return schedule && nextRun(schedule, new Date(after), zone)?.toISOString();
};

describe('the next run of a schedule', () => {
  const cases: [schedule: string, after: string, run: string | undefined, zone?: string][] = [
    ['0 2 * * *', '2026-11-27T02:00:00Z', '2026-11-28T02:00:00.000Z'],
    ['*/15 * * * *', '2026-11-27T02:14:59Z', '2026-11-27T02:15:00.000Z'],
    ['@weekly', '2026-11-27T00:00:00Z', '2026-11-29T00:00:00.000Z'],
    ['0 9 * * mon-fri', '2026-11-27T10:00:00Z', '2026-11-30T09:00:00.000Z'],
    ['0 0 13 * 5', '2026-11-27T10:00:00Z', '2026-12-04T00:00:00.000Z'],
    ['0 0 29 feb *', '2026-11-27T10:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['0 0 31 2 *', '2026-11-27T10:00:00Z', undefined],
    ['30 2 * * *', '2026-11-27T10:00:00Z', '2026-11-28T01:30:00.000Z', 'Europe/Berlin'],
    ['30 2 * * *', '2026-03-28T10:00:00Z', '2026-03-30T00:30:00.000Z', 'Europe/Berlin'],
    ['0 0 * * *', '2026-11-27T10:00:00Z', '2026-11-27T18:30:00.000Z', 'Asia/Kolkata'],
    // An asterisk with a step above 1 is a restriction: one of both days is enough.
    ['0 0 */2 * 3', '2026-11-28T18:00:00Z', '2026-11-29T00:00:00.000Z'],
    ['30 6 1 * */3', '2026-11-28T18:00:00Z', '2026-11-29T06:30:00.000Z'],
    ['0 0 */1 * 3', '2026-11-28T18:00:00Z', '2026-12-02T00:00:00.000Z'],
    ['0 0 5,* * 3', '2026-11-28T18:00:00Z', '2026-12-02T00:00:00.000Z'],
    // A clock that goes back shows an hour twice.
    ['30 2 * * *', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00.000Z', 'Europe/Berlin'],
    ['0 0 , * *', '2026-11-27T10:00:00Z', undefined],
  ];
  for (const [schedule, after, run, zone] of cases)
    it(`runs ${schedule} after ${after} ${zone ?? ''} at ${run}`, () => expect(next(schedule, after, zone)).to.equal(run));

  it('is unknown for text that cron refuses', () => {
    for (const text of [
      '',
      '* * * *',
      '60 * * * *',
      '* * 0 * *',
      '*/0 * * * *',
      '5-1 * * * *',
      'a * * * *',
      '1/2/3 * * * *',
      '@Daily',
      ' @daily',
      '@every 5d',
    ])
      expect(parseSchedule(text), text).to.equal(undefined);
  });
});

describe('the next run of a schedule @every', () => {
  const after = new Date('2026-11-28T18:00:00Z');
  const run = (text: string, since?: string) => {
    const schedule = parseSchedule(text);
    return schedule && nextRun(schedule, after, 'UTC', since === undefined ? undefined : new Date(since))?.toISOString();
  };

  it('counts from the last run', () => {
    expect(run('@every 5m', '2026-11-28T17:58:30Z')).to.equal('2026-11-28T18:03:30.000Z');
    expect(run('@every 1h30m', '2026-11-28T10:00:00Z')).to.equal('2026-11-28T19:00:00.000Z');
    expect(run('@every 10ms', '2026-11-28T18:00:00Z')).to.equal('2026-11-28T18:00:01.000Z');
  });
});
