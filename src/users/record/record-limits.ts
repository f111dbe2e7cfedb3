/** Limits of the custom resource definition for values from issuers and directories. */
import { cleaned } from '../../api/shown-text.ts';
import { grantableGroups } from '../../kubernetes/impersonation.ts';
import { withoutLocalGroups } from './local-groups.ts';
import type { UserSpec } from './schema.ts';

type SourceIDs = NonNullable<UserSpec['ids']>;

const maxDisplayName = 128;
/** Groups in one record. */
export const maxGroups = 512;
const maxSourceIDs = 16;
const maxSourceType = 63;
const maxSourceID = 512;

export const displayName = (text: string): string => [...cleaned(text.slice(0, 4 * maxDisplayName))].slice(0, maxDisplayName).join('');

/** Adds an identity to those of a record, and keeps the newest. @returns undefined if no record can have the identity */
export function sourceIDs(ids: SourceIDs = [], { type, id }: { type: string; id: string }): SourceIDs | undefined {
  if (type === '' || type.length > maxSourceType || id === '' || id.length > maxSourceID || !id.isWellFormed()) return undefined;
  const isKnown = ids.some((other) => other.type === type && other.id === id);
  return isKnown ? ids : [...ids, { type, id }].slice(-maxSourceIDs);
}

/**
 * Returns the groups that a record can have: no group reserved by the cluster, no local group, and none that does not fit into a header.
 */
export const recordableGroups = (groups: readonly string[]): string[] => withoutLocalGroups(grantableGroups([...new Set(groups)]));

/** Returns the groups to record, up to the limit. */
export const recordedGroups = (groups: readonly string[]): string[] => recordableGroups(groups).slice(0, maxGroups);
