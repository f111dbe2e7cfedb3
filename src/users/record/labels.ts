import { labelValueProblems } from '@atrium/objects/labels.ts';
import { recordName, shortHash } from './account.ts';
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

const prefix = 'auth.platform.io';

export const createdByAnnotation = `${prefix}/created-by`;

export const isLabelValue = (text: string): boolean => labelValueProblems(text).length === 0;

/** Members of the spec of a User that labels repeat. */
interface LabelledSpec {
  email?: string | undefined;
  username?: string | undefined;
  connector_id?: string | undefined;
  connector_type?: string | undefined;
  state?: string | undefined;
  valid?: boolean | undefined;
}

/** Returns the labels that the service sets on a User with that spec. */
export function userLabels({
  email = '',
  username = '',
  connector_id = '',
  connector_type = '',
  state,
  valid,
}: LabelledSpec): Record<string, string> {
  return {
    [`${prefix}/user.email`]: recordName(email) ?? '',
    [`${prefix}/user.username`]: isLabelValue(username) ? username : shortHash(username),
    [`${prefix}/user.connector_id`]: connector_id,
    [`${prefix}/user.connector_type`]: connector_type,
    [`${prefix}/user.state`]: state || 'active',
    [`${prefix}/user.valid`]: String(valid !== false),
  };
}

/** Returns the labels that differ from the expected ones, or undefined if none does. */
export function labelsToChange(labels: Readonly<Record<string, string>> = {}, spec: LabelledSpec = {}): Record<string, string> | undefined {
  const changed = Object.entries(userLabels(spec)).filter(([key, value]) => labels[key] !== value);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
