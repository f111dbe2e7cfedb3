import type { UserStatus } from './schema.ts';

/** The caller of the API has given up by then. */
const unfinishedMs = 120_000;

/** What only a user has who was whole once, and whom nothing but a deletion may end. */
const marksOfWholeUsers = ['activatedTime', 'lastLoginTime', 'passwordChangedTime'] as const;

/**
 * Until when the making of a record may be under way, in milliseconds since 1970; undefined if it is finished, or was never begun by us.
 * The mark stands in the status, where only the service writes.
 */
export function unfinishedEnd(status: UserStatus = {}): number | undefined {
  if (status.unfinishedSince === undefined || marksOfWholeUsers.some((mark) => status[mark] !== undefined)) return undefined;
  return Date.parse(status.unfinishedSince) + unfinishedMs;
}
