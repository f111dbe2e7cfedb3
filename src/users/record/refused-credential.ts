import { type StatusCause, type StatusError, unauthorized } from '../../api/status.ts';
import type { Account } from './account.ts';
import { phaseOf } from './conditions.ts';

/** Cause for a token or session that was revoked. */
export const revoked: StatusCause = { reason: 'TokenRevoked', message: 'the token was revoked' };

/** Cause for a record that belongs to another subject of the issuer. */
export const subjectDiffers: StatusCause = {
  reason: 'SubjectDiffers',
  message: 'the user record belongs to another account of the identity provider',
};

/** Cause for an account that has another name at the issuer than in its record. Rights of the old name are not moved to the new one. */
export const addressChanged: StatusCause = {
  reason: 'AddressChanged',
  message: 'the address of the account has changed at the identity provider: an administrator deletes the user record of the old address',
};

/** Cause for a user who must use a second factor, while the issuer of the linked account reports none. */
export const factorRequired: StatusCause = {
  reason: 'FactorRequired',
  message: 'a second factor is required of this user: log in with the password and the second factor instead of the linked account',
};

/** Returns 401 for a genuine token or session that is no longer valid. */
export const noLongerCounts = (cause: StatusCause): StatusError =>
  unauthorized({ tokenGiven: true, message: cause.message ?? 'Unauthorized', causes: [cause] });

/**
 * Returns why the credentials of the user are not valid, or undefined if they are. A lock is no reason: it only stops logins. Otherwise
 * strangers could end sessions by guessing passwords.
 */
export function phaseCause(account: Account, now: Date, idleDays: number): StatusCause | undefined {
  const { phase, reason } = phaseOf(account, now, idleDays);
  if (phase === 'Invalid') return { reason: 'AccountInvalid', message: 'the account is no longer valid' };
  if (phase !== 'Disabled') return undefined;
  if (reason === 'Expired') return { reason: 'AccountExpired', message: 'the account has expired' };
  return { reason: 'AccountDisabled', message: 'the account is disabled' };
}
