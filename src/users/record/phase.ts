import type { KubernetesObject } from '../../kubernetes/resource.ts';
import { type Account, accountOf } from './account.ts';

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
  if (isIdle && !account.isAdmin) return { phase: 'Disabled', reason: 'Idle' };
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
