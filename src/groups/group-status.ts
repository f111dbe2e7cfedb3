import { type Observed, setConditions } from '../kubernetes/object-status.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';

/** Names in a message at most. */
const maxNamed = 20;

/** Bound of the custom resource definition. */
const maxShown = 500;

/** A member for display. */
interface ShownMember {
  name: string;
  /** '' without a User record. */
  email: string;
}

/**
 * Returns the observed state of a group for its status. Null deletes a field.
 *
 * @param members members of a local group; undefined if the issuer manages them
 */
export function groupStatus({ metadata, status }: KubernetesObject, members: readonly ShownMember[] | undefined, now: Date) {
  const { generation } = metadata;
  const known = { ...membersKnown(members), ...(generation !== undefined && { observedGeneration: generation }) };
  return {
    memberCount: members?.length ?? null,
    members: members?.slice(0, maxShown) ?? null,
    observedGeneration: generation ?? null,
    conditions: setConditions(status, [known], now),
  };
}

function membersKnown(members: readonly ShownMember[] | undefined): Observed {
  const type = 'MembersKnown';
  if (members === undefined)
    return { type, status: 'Unknown', reason: 'KnownByIssuer', message: 'the issuer tells the groups of users at their login' };
  const unknown = members.flatMap(({ name, email }) => (email === '' ? [name] : []));
  if (unknown.length === 0) return { type, status: 'True', reason: 'AsExpected', message: '' };
  const named = unknown.slice(0, maxNamed).join(', ');
  const more = unknown.length > maxNamed ? `, and ${unknown.length - maxNamed} more` : '';
  return { type, status: 'False', reason: 'MembersWithoutRecord', message: `no User record has these names: ${named}${more}` };
}
