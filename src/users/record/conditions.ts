import { type Condition, type Observed, setConditions } from '@atrium/kubernetes/object-status.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type StatusCause, type StatusError, unauthorized } from '@atrium/objects/status.ts';
import { type Account, accountOf, recordName } from './account.ts';
import type { readUser } from './schema.ts';

/** Phase of a user, which permits or refuses login, and its reason. */
export interface AccountPhase {
  phase: 'Invalid' | 'Disabled' | 'Locked' | 'Normal';
  /** '' for Normal. */
  reason: '' | 'GoneFromSource' | 'NotCanonical' | 'Terminating' | 'ByHand' | 'NotYetValid' | 'Expired' | 'Idle' | 'TooManyFailedLogins';
  /** End of the lock of a Locked user. */
  lockedUntil?: Date;
}

const daySeconds = 86_400;

/**
 * Returns the first phase that applies at that moment (docs/contract/resources.md).
 *
 * @param idleDays `users.idleDays`; 0 means never
 */
export function phaseOf(account: Account, now: Date, idleDays: number): AccountPhase {
  const seconds = now.getTime() / 1000;
  const { validFrom = Number.NEGATIVE_INFINITY, validUntil = Number.POSITIVE_INFINITY, lockedUntil = 0 } = account;
  if (!account.isValid) return { phase: 'Invalid', reason: 'GoneFromSource' };
  if (!account.isCanonical) return { phase: 'Invalid', reason: 'NotCanonical' };
  if (account.isTerminating) return { phase: 'Disabled', reason: 'Terminating' };
  if (account.isDisabled) return { phase: 'Disabled', reason: 'ByHand' };
  if (seconds < validFrom) return { phase: 'Disabled', reason: 'NotYetValid' };
  if (seconds >= validUntil) return { phase: 'Disabled', reason: 'Expired' };
  const isIdle = idleDays > 0 && seconds - account.lastActive > idleDays * daySeconds;
  // A machine user has no logins.
  if (isIdle && !account.isAdmin && account.federation === undefined) return { phase: 'Disabled', reason: 'Idle' };
  if (seconds < lockedUntil) return { phase: 'Locked', reason: 'TooManyFailedLogins', lockedUntil: new Date(lockedUntil * 1000) };
  return { phase: 'Normal', reason: '' };
}

/** Returns when the phase may change without a write, in milliseconds since 1970, or undefined for never. */
export function nextChangeOf({ validFrom, validUntil, lockedUntil, lastActive }: Account, now: Date, idleDays: number): number | undefined {
  const idleFrom = idleDays > 0 ? lastActive + idleDays * daySeconds + 1 : undefined;
  const times = [validFrom, validUntil, lockedUntil, idleFrom].filter((time) => time !== undefined).map((time) => time * 1000);
  const ahead = times.filter((time) => time > now.getTime());
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}

/** Returns the status members of the phase, as a merge patch. */
export function phaseStatus(object: KubernetesObject, now: Date, idleDays: number): Record<string, unknown> {
  const { phase, reason } = phaseOf(accountOf(object), now, idleDays);
  return { phase, reason: reason || null, message: null, observedGeneration: object.metadata.generation ?? null };
}

/** User at a given moment. */
interface ObservedUser {
  object: KubernetesObject;
  /** Parsed object. */
  user: ReturnType<typeof readUser>;
  account: Account;
  phase: AccountPhase;
}

type Reason = Exclude<AccountPhase['reason'], ''>;

/** Texts of the causes that keep a user from being Ready. */
const messageOf: Record<Reason, (account: Account) => string> = {
  GoneFromSource: () => 'the directory no longer has the user',
  NotCanonical: ({ email }) =>
    `metadata.name must be ${recordName(email) ?? 'another one'}, made from spec.email. Print the right User: kubectl atrium users create ${email} --dry-run -o yaml`,
  Terminating: () => 'the record is being deleted',
  ByHand: () => 'spec.is_disabled is true, or spec.state is inactive',
  NotYetValid: () => 'spec.expired.begin is in the future',
  Expired: () => 'spec.expired.end has passed',
  Idle: () => 'the last login is longer ago than users.idleDays allows',
  TooManyFailedLogins: () => 'too many logins have failed: status.lockedUntil tells the end of the lock',
};

/** Returns `status.conditions` of a user. Ready repeats the cause that decides the phase. */
export function conditionsOf({ object, user: { status = {} }, account, phase: { phase, reason } }: ObservedUser, now: Date): Condition[] {
  const generation = object.metadata.generation;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const condition = (type: string, isSo: boolean, whyNot: Reason | '' | 'NoPassword', message = ''): Observed =>
    isSo
      ? { type, status: 'True', reason: 'AsExpected', message: '', ...observed }
      : { type, status: 'False', reason: whyNot || 'Unknown', message, ...observed };
  const text = (cause: AccountPhase['reason']) => (cause === '' ? '' : messageOf[cause](account));
  const conditions = [
    condition('Ready', phase === 'Normal', reason, text(reason)),
    condition('Enabled', phase !== 'Disabled', reason, text(reason)),
    condition('Unlocked', phase !== 'Locked', 'TooManyFailedLogins', text('TooManyFailedLogins')),
    condition('SourceFound', account.isValid, 'GoneFromSource', text('GoneFromSource')),
    ...(account.connectorType === 'local'
      ? [
          condition(
            'PasswordSet',
            status.passwordChangedTime !== undefined,
            'NoPassword',
            'an administrator sets it with a PATCH of the user',
          ),
        ]
      : []),
    condition('Canonical', account.isCanonical, 'NotCanonical', text('NotCanonical')),
  ];
  return setConditions(object.status, conditions, now);
}

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
export const noLongerValid = (cause: StatusCause): StatusError =>
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
