/** What others tell of a user, within the bounds of the custom resource definition. */
import { cleaned } from '../../api/shown-text.ts';
import { fitsHeader, isReservedGroup } from '../../kubernetes/impersonation.ts';
import { isLocalGroupName } from './local-groups.ts';
import type { UserSpec } from './schema.ts';

type LinkedIDs = NonNullable<UserSpec['ids']>;

const maxDisplayName = 128;
const maxGroups = 512;
const maxGroupName = 253;
const maxLinkedIDs = 16;
const maxLinkedType = 63;
const maxLinkedID = 512;

export const displayName = (text: string): string => [...cleaned(text.slice(0, 4 * maxDisplayName))].slice(0, maxDisplayName).join('');

/** With that identity among those that a record has; the newest are kept. Undefined for one that no record can have. */
export function linkedIDs(ids: LinkedIDs = [], { type, id }: { type: string; id: string }): LinkedIDs | undefined {
  if (type === '' || type.length > maxLinkedType || id === '' || id.length > maxLinkedID || !id.isWellFormed()) return undefined;
  const isKnown = ids.some((other) => other.type === type && other.id === id);
  return isKnown ? ids : [...ids, { type, id }].slice(-maxLinkedIDs);
}

/** The groups that a record can have: never one that the cluster keeps for itself, none that is kept here, and none that no header can carry. */
const recordableGroups = (groups: readonly string[]): string[] => [...new Set(groups)].filter(isRecordable);

/** As many of them as a record keeps. */
export const recordedGroups = (groups: readonly string[]): string[] => recordableGroups(groups).slice(0, maxGroups);

/** What has to be said of groups for which the record has no room: how many there are, and how many it keeps. */
export function groupsBeyondRecord(groups: readonly string[]): { groups: number; kept: number } | undefined {
  const count = recordableGroups(groups).length;
  return count > maxGroups ? { groups: count, kept: maxGroups } : undefined;
}

const isRecordable = (group: string) =>
  fitsHeader(group) && group.length <= maxGroupName && !isReservedGroup(group) && !isLocalGroupName(group);
