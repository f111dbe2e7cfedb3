import { type StatusCause, type StatusError, unauthorized } from '../../api/status.ts';
import type { Account } from './account.ts';
import { phaseOf } from './phase.ts';

/** The cause of a token or session that was ended before its time. */
export const revoked: StatusCause = { reason: 'TokenRevoked', message: 'the token was revoked' };

/** The record belongs to another subject of the issuer. */
export const subjectDiffers: StatusCause = {
  reason: 'SubjectDiffers',
  message: 'the user record belongs to another account of the identity provider',
};

/** The account of the issuer goes by another name than its record: what that name may do is not moved to the new one. */
export const addressChanged: StatusCause = {
  reason: 'AddressChanged',
  message: 'the address of the account has changed at the identity provider: an administrator deletes the user record of the old address',
};

/** A rule requires a second factor of the user, and the issuer of a linked account tells of none. */
export const factorRequired: StatusCause = {
  reason: 'FactorRequired',
  message: 'a second factor is required of this user: log in with the password and the second factor instead of the linked account',
};

/** 401 for a token or session that was real and does not count. */
export const noLongerCounts = (cause: StatusCause): StatusError =>
  unauthorized({ tokenGiven: true, message: cause.message ?? 'Unauthorized', causes: [cause] });

/**
 * Why the credentials of this user do not count; undefined if they do. A lock is no reason: it stops logins, or a stranger could end a session by guessing passwords.
 */
export function phaseCause(account: Account, now: Date, idleDays: number): StatusCause | undefined {
  const { phase, reason } = phaseOf(account, now, idleDays);
  if (phase === 'Invalid') return { reason: 'AccountInvalid', message: 'the account is no longer valid' };
  if (phase !== 'Disabled') return undefined;
  if (reason === 'Expired') return { reason: 'AccountExpired', message: 'the account has expired' };
  return { reason: 'AccountDisabled', message: 'the account is disabled' };
}
