import { isRecord } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import { accountOf } from '../../../src/users/record/account.ts';
import { phaseOf } from '../../../src/users/record/conditions.ts';
import { aStoredUser } from './a-user.ts';

const now = new Date('2026-03-01T12:00:00Z');
const idleDays = 90;

/** A user who was made on 12 January and never logged in. */
const account = (spec: Record<string, unknown> = {}, status: Record<string, unknown> = {}) => {
  const user = aStoredUser('jane@example.com');
  return accountOf({
    ...user,
    spec: { ...(isRecord(user.spec) && user.spec), ...spec },
    status: { ...(isRecord(user.status) && user.status), ...status },
  });
};
const reason = (...parts: Parameters<typeof account>) => phaseOf(account(...parts), now, idleDays).reason;

describe('the phase of a user', () => {
  it('is Normal without a reason, whatever the status says', () => {
    expect(phaseOf(account({}, { phase: 'Locked' }), now, idleDays)).to.deep.equal({ phase: 'Normal', reason: '' });
  });

  it('is the first that holds', () => {
    const all = { valid: false, is_disabled: true, expired: { end: '2026-01-01T00:00:00Z' } };
    const locked = { lockedUntil: '2026-03-01T12:20:00Z' };

    expect(phaseOf(account(all, locked), now, idleDays)).to.deep.equal({ phase: 'Invalid', reason: 'GoneFromSource' });
    expect(phaseOf({ ...account(all, locked), isValid: true, isCanonical: false }, now, idleDays).reason).to.equal('NotCanonical');
    expect(phaseOf(account({ ...all, valid: true }, locked), now, idleDays)).to.deep.equal({ phase: 'Disabled', reason: 'ByHand' });
    expect(reason({ ...all, valid: true, is_disabled: false }, locked)).to.equal('Expired');
    expect(phaseOf(account({}, locked), now, idleDays)).to.deep.equal({
      phase: 'Locked',
      reason: 'TooManyFailedLogins',
      lockedUntil: new Date('2026-03-01T12:20:00Z'),
    });
  });

  it('is Disabled for an inactive state as for is_disabled', () => {
    expect(reason({ state: 'inactive' })).to.equal('ByHand');
    expect(reason({ state: 'active', is_disabled: false })).to.equal('');
  });

  it('changes with the second in which the validity begins and ends, and the lock ends', () => {
    expect(reason({ expired: { begin: '2026-03-01T12:00:01Z' } })).to.equal('NotYetValid');
    expect(reason({ expired: { begin: '2026-03-01T12:00:00Z', end: '2026-03-01T12:00:01Z' } })).to.equal('');
    expect(reason({ expired: { end: '2026-03-01T12:00:00Z' } })).to.equal('Expired');
    expect(reason({}, { lockedUntil: '2026-03-01T12:00:01Z' })).to.equal('TooManyFailedLogins');
    expect(reason({}, { lockedUntil: '2026-03-01T12:00:00Z' })).to.equal('');
  });

  it('is Idle so many days after the latest of creation, login and activation, but not for administrators', () => {
    const later = new Date('2026-04-12T08:30:00Z');
    const phase = (days: number, ...parts: Parameters<typeof account>) => phaseOf(account(...parts), later, days).reason;

    expect(phase(90)).to.equal('');
    expect(phase(89)).to.equal('Idle');
    expect(phase(89, {}, { lastLoginTime: '2026-01-13T08:30:00Z' })).to.equal('');
    expect(phase(89, {}, { activatedTime: '2026-01-13T08:30:00Z' })).to.equal('');
    expect(phase(89, {}, { activatedTime: '2026-01-02T08:30:00Z' })).to.equal('Idle');
    expect(phase(89, { is_admin: true })).to.equal('');
    expect(phase(0)).to.equal('');
  });
});
