import type { UserStatus } from './schema.ts';

/** Time after which a creation is considered abandoned. The caller has timed out by then. */
const unfinishedMs = 120_000;

/** Status members that only completed users have. A completed user is removed by nothing but a deletion. */
const marksOfWholeUsers = ['activatedTime', 'lastLoginTime', 'passwordChangedTime'] as const;

/**
 * Returns the end of the time in which the creation may be in progress, in milliseconds since 1970, or undefined if the user is complete or
 * was not created by the service. The mark is in the status, which only the service writes.
 */
export function unfinishedEnd(status: UserStatus = {}): number | undefined {
  if (status.unfinishedSince === undefined || marksOfWholeUsers.some((mark) => status[mark] !== undefined)) return undefined;
  return Date.parse(status.unfinishedSince) + unfinishedMs;
}
