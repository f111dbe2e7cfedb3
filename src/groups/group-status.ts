import { timestamp } from '../accounts/timestamp.ts';
import { isRecord, type KubernetesObject } from '../kubernetes/resource.ts';

/** As many as a message names. */
const maxNamed = 20;

/**
 * What is observed of a group, as its status tells it; null removes a member. A condition that stays keeps the time since when it is so.
 *
 * @param observed how many members a local group has; undefined where the issuer knows them; and who of them has no User record
 */
export function groupStatus(
  { metadata, status }: KubernetesObject,
  { members, unknown }: { members: number | undefined; unknown: readonly string[] },
  now: Date,
) {
  const told = membersKnown(members, unknown);
  const old = isRecord(status) && Array.isArray(status.conditions) ? status.conditions.filter(isRecord) : [];
  const before = old.find(({ type }) => type === told.type);
  const since =
    before?.status === told.status && typeof before.lastTransitionTime === 'string' ? before.lastTransitionTime : timestamp(now);
  return {
    memberCount: members ?? null,
    observedGeneration: metadata.generation ?? null,
    conditions: [{ ...told, lastTransitionTime: since }],
  };
}

function membersKnown(members: number | undefined, unknown: readonly string[]) {
  const type = 'MembersKnown';
  if (members === undefined)
    return { type, status: 'Unknown', reason: 'KnownByIssuer', message: 'the issuer tells the groups of whoever logs in' };
  if (unknown.length === 0) return { type, status: 'True', reason: 'AsExpected', message: '' };
  const named = unknown.slice(0, maxNamed).join(', ');
  const more = unknown.length > maxNamed ? `, and ${unknown.length - maxNamed} more` : '';
  return { type, status: 'False', reason: 'MembersWithoutRecord', message: `no User record has these names: ${named}${more}` };
}
