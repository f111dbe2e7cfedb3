import { KeySeal } from '@atrium/http/seal.ts';
import { expect } from 'chai';
import { isCurrent, linksEndAt, openLink, sealLink } from '../../../src/one-time-links/links.ts';
import { aStoredUser } from '../users/a-user.ts';

const key = new KeySeal({ kid: 'k', secret: Buffer.alloc(32, 1) }, 'links');
const seal = { seal: (text: string) => key.seal(text), open: async (text: string) => key.open(text) };
const made = new Date('2026-03-01T11:00:00Z');
const minutesOn = (minutes: number) => new Date(made.getTime() + minutes * 60_000);
const state = { object: aStoredUser('jane@example.com'), stored: undefined };

describe('the time of a one-time link', () => {
  it('REC2-02 is over with the last second that was sealed', async () => {
    const link = await openLink(seal, sealLink(seal, 'password', state, minutesOn(30)));
    if (link === undefined) throw new Error('not opened');

    expect(isCurrent(link, state, { now: minutesOn(29), idleDays: 0 })).to.equal(true);
    for (const minutes of [30, 31, 1e6]) expect(isCurrent(link, state, { now: minutesOn(minutes), idleDays: 0 })).to.equal(false);
  });

  it('REC2-02 moves forward each time that links are ended, also twice in a second', () => {
    const once = linksEndAt(state, made);
    const ended = { ...state, object: { ...state.object, status: { linksNotBefore: once } } };

    expect([once, linksEndAt(ended, made)]).to.deep.equal(['2026-03-01T11:00:01Z', '2026-03-01T11:00:02Z']);
  });
});
