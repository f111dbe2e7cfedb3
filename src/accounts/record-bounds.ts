/** What others tell of a user, within the bounds of the custom resource definition. */
import { isRecord } from '../kubernetes/resource.ts';
import { isLocalGroupName } from './local-groups.ts';

const maxDisplayName = 128;
const maxGroups = 512;
const maxGroupName = 253;
const maxLinkedIDs = 16;
const maxLinkedType = 63;
const maxLinkedID = 512;

export const displayName = (text: string): string =>
  [...text.toWellFormed().slice(0, 4 * maxDisplayName)].slice(0, maxDisplayName).join('');

/** With that identity among those that a record has; the newest are kept. Undefined for one that no record can have. */
export function linkedIDs(old: unknown, { type, id }: { type: string; id: string }): unknown[] | undefined {
  if (type === '' || type.length > maxLinkedType || id === '' || id.length > maxLinkedID || !id.isWellFormed()) return undefined;
  const ids: unknown[] = Array.isArray(old) ? old : [];
  const isKnown = ids.some((other) => isRecord(other) && other.type === type && other.id === id);
  return isKnown ? ids : [...ids, { type, id }].slice(-maxLinkedIDs);
}

/** Never one of Kubernetes' own or of those that are kept here, whoever tells it. */
export const recordedGroups = (groups: readonly string[]): string[] => [...new Set(groups)].filter(isRecordable).slice(0, maxGroups);

const isRecordable = (group: string) =>
  group !== '' && group.length <= maxGroupName && !group.startsWith('system:') && !isLocalGroupName(group);
