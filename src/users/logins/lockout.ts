import type { Config } from '../../config/schema.ts';
import { timestamp } from '../../kubernetes/timestamp.ts';

type Lockout = Config['users']['lockout'];

/** As in the status of a User; times are RFC 3339. */
export interface FailureCount {
  failedLogins: number;
  failedLoginsSince: string;
  /** Set with the last attempt that is allowed. */
  lockedUntil: string | null;
}

/**
 * The count with one attempt more, which is counted as failed until it turns out right: only what is written before a password is
 * looked at bounds how many are, when many come at once.
 *
 * @returns undefined while the user is locked: no attempt is to be had
 */
export function countAttempt(status: Readonly<Record<string, unknown>>, now: Date, lockout: Lockout): FailureCount | undefined {
  const { failedLogins, failedLoginsSince, lockedUntil } = status;
  const lockEnd = timeOf(lockedUntil);
  if (lockEnd !== undefined && now.getTime() < lockEnd) return undefined;
  const since = timeOf(failedLoginsSince);
  const goesOn = lockEnd === undefined && since !== undefined && now.getTime() < since + lockout.window;
  const count = (goesOn && typeof failedLogins === 'number' ? failedLogins : 0) + 1;
  return {
    failedLogins: count,
    failedLoginsSince: timestamp(goesOn ? new Date(since) : now),
    lockedUntil: count >= lockout.failures ? timestamp(new Date(now.getTime() + lockout.duration)) : null,
  };
}

/** The count without one attempt: of a password that could not be checked. */
export function withoutAttempt({ failedLogins, failedLoginsSince }: Readonly<Record<string, unknown>>) {
  const left = typeof failedLogins === 'number' ? failedLogins - 1 : 0;
  return left <= 0 ? noFailures : { failedLogins: left, failedLoginsSince, lockedUntil: null };
}

/** After a right password. */
export const noFailures = { failedLogins: null, failedLoginsSince: null, lockedUntil: null };

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
