/** Rules of Groups: rights to their members, and the members of a new or changed object. */
import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import { duplicate, type FieldError, forbidden as forbiddenField, notFoundValue } from '@atrium/objects/field-error.ts';
import { partsOf, reader } from '@atrium/objects/reader.ts';
import { invalid } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Strategy } from '../collection/standard-writes.ts';
import type { Services } from '../services.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import { groupApiVersion, groupResource, localGroupName } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import type { GroupRow } from './row.ts';
import { type GroupPatch, groupPatchBody, type NewGroup, newGroupBody } from './schema.ts';

/** Dependencies of the operations on Groups. */
export interface GroupsContext {
  readonly services: Services;
  readonly groups: Collection<GroupRow>;
  readonly accounts: AccountLookup;
}

/** @throws StatusError 403, 503 */
export const requireGroupRight = (
  { services }: GroupsContext,
  caller: Caller,
  verb: string,
  name: string | undefined,
  signal: AbortSignal,
) => services.access.require(caller, { ...groupResource, verb, ...(name !== undefined && { name }) }, signal);

/**
 * Requires the right to impersonate the group, because members get what is granted to it. The chart's admission policy, where installed,
 * requires the same.
 *
 * @throws StatusError 403, 503
 */
export const requireMembersRight = ({ services }: GroupsContext, caller: Caller, name: string, signal: AbortSignal) =>
  services.access.require(caller, { group: '', resource: 'groups', verb: 'impersonate', name: localGroupName(name) }, signal);

const kind = { group: groupResource.group, kind: 'Group' };
const readNamed = reader(z.object({ name: z.string() }));

export const groupStrategy = (context: GroupsContext): Strategy<NewGroup, GroupPatch> => ({
  newBody: newGroupBody,
  errorsOf: memberErrors,
  beforeCreate: (group, caller, signal) => requireMembers(context, group, caller, signal),
  manifestOf: (group) => manifestOf(group, context.services.now()),
  patch: { body: groupPatchBody },
});

/** Requires the same for a new group with members as for a change of its members. */
async function requireMembers(context: GroupsContext, { metadata, spec }: NewGroup, caller: Caller, signal: AbortSignal): Promise<void> {
  const { accounts, services } = context;
  const { users = [] } = spec;
  if (users.length === 0) return;
  requireNoAccessToken('members', caller);
  await requireMembersRight(context, caller, metadata.name, signal);
  requireRecentLogin('members', caller, services.config.login.stepUp, services.now());
  requireAccounts(accounts);
  const unknown = users.flatMap(({ name }, index) =>
    accounts.get(name) === undefined ? [notFoundValue(`spec.users[${index}].name`, name)] : [],
  );
  if (unknown.length > 0) throw invalid({ ...kind, name: metadata.name }, unknown);
}

/** Checks the rules that span several members. */
function memberErrors(body: unknown): FieldError[] {
  const { spec = {} } = partsOf(body);
  const users: readonly unknown[] = Array.isArray(spec.users) ? spec.users : [];
  if (users.length > 0 && spec.refConnector !== undefined)
    return [forbiddenField('spec.users', 'the members of a group that comes from an issuer are known by the issuer')];
  const seen = new Set<string>();
  return users.flatMap((user, index) => {
    const { name } = readNamed(user);
    if (name === undefined) return [];
    if (seen.has(name)) return [duplicate(`spec.users[${index}].name`, name)];
    seen.add(name);
    return [];
  });
}

function manifestOf({ metadata, spec }: NewGroup, now: Date) {
  const { users, ...rest } = spec;
  const { name, labels, annotations } = metadata;
  return {
    apiVersion: groupApiVersion,
    kind: 'Group',
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: { ...rest, ...(users && { users: users.map((user) => ({ importTime: timestamp(now), ...user })) }) },
  };
}
