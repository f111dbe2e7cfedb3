import type { Caller } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { isRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { forbidden as forbiddenField, tooMany } from '@atrium/objects/field-error.ts';
import { badParameter, badRequest, conflict, invalid, notFound, type StatusCause } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import { groupApiVersion, groupResource, type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import { requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { groupKind, isLocalGroup, type Member, type MemberItem, maxMembers, membersOf } from './schema.ts';
import { type GroupsContext, requireGroupRight, requireMembersRight } from './strategy.ts';

/** Bounds the length of the address: names of generated records have 32 characters. */
const maxNames = 100;

const membershipList = z
  .object({
    apiVersion: z.literal(groupApiVersion),
    kind: z.literal('MembershipList'),
    metadata: z.object({}),
    items: z.array(
      z.object({
        name: z.string().describe('Name of the User record.'),
        groups: z.array(z.string()).describe('Local groups as Kubernetes sees them, sorted.'),
      }),
    ),
  })
  .meta({
    id: 'MembershipList',
    examples: [
      {
        ...{ apiVersion: groupApiVersion, kind: 'MembershipList', metadata: {} },
        items: [{ name: '8c87b489ce35cf2e2f39f80e282cb2e8', groups: ['local:dev'] }],
      },
    ],
  });

/** Creates the operation that lists the local groups of many users, from the index that issues tokens. */
export const listMemberships = (context: GroupsContext, localGroups: LocalGroupLookup): Operation =>
  operation({
    id: 'ListMemberships',
    method: 'GET',
    paths: ['/auth/v1/memberships'],
    tag: 'groups',
    summary: 'Lists the local groups of users, for callers who may list groups',
    credential: 'required',
    before: [compressed],
    query: z.object({ names: z.array(z.string()).describe(`Names of User records: 1 to ${maxNames}, repeated or separated by commas.`) }),
    answers: {
      200: {
        description:
          'An item for each name, in the requested order. A user without local groups and a name without a record have no groups.',
        content: { 'application/json': membershipList },
      },
      403: { description: 'RBAC denies it.' },
    },
    async handle({ ctx, caller, query, signal }) {
      await requireGroupRight(context, caller, 'list', undefined, signal);
      const names = [...new Set(query.names.flatMap((text) => text.split(',')))].filter((name) => name !== '');
      if (names.length === 0) throw badParameter('names', 'must hold at least one name', 'FieldValueRequired');
      if (names.length > maxNames) throw badParameter('names', `must hold at most ${maxNames} names`, 'FieldValueTooMany');
      requireCurrentGroups(localGroups);
      const items = names.map((name) => ({ name, groups: localGroups.of(name) }));
      ctx.body = { apiVersion: groupApiVersion, kind: 'MembershipList', metadata: {}, items };
    },
  });

interface MemberRequest {
  group: string;
  names: readonly string[];
  action: 'add' | 'remove';
  isDryRun: boolean;
}

interface MembersChanged {
  /** Uid of the group. */
  uid: string;
  /** Results for each name, in the order of the request. */
  items: MemberItem[];
  /** Names that were added or removed. */
  changed: readonly string[];
  /** Resource version of the written group; undefined if nothing was written. */
  resourceVersion?: string;
}

/** Bounds of changes of one group: users take turns. */
const turns = { atOnce: 1, maxWaiting: 1024, what: 'changes of the group are waiting' };

/** Adds users to local groups and removes them, with the caller's rights. */
export class GroupMembers {
  readonly #context: GroupsContext;
  /** Changes of a group within a replica run in sequence, so that only replicas conflict. */
  readonly #turns = new KeyedSemaphore(turns);

  constructor(context: GroupsContext) {
    this.#context = context;
    reportRefusals(context.services.metrics, 'groups', this.#turns);
  }

  /**
   * Changes the current members. Reads, changes and writes the group again after each conflict.
   *
   * @throws StatusError 400, 401, 403, 404, 409, 422, 429, 503, 504
   */
  async change(request: MemberRequest, caller: Caller, signal: AbortSignal): Promise<MembersChanged> {
    const { groups, accounts, services } = this.#context;
    const { group: name, action } = request;
    checkNames(request.names);
    if (action === 'add') requireNoAccessToken('members', caller);
    await requireGroupRight(this.#context, caller, 'patch', name, signal);
    await requireMembersRight(this.#context, caller, name, signal);
    if (action === 'add') requireRecentLogin('members', caller, services.config.login.stepUp, services.now());
    requireAccounts(accounts);
    const changed = await this.#turns.run(name, () => retryOnConflict(() => this.#attempt(request, caller, signal), signal), signal);
    if (changed === undefined) throw conflict(groupResource, name, 'concurrent changes of the group prevented this change, try again', 1);
    if (changed.resourceVersion !== undefined) await groups.cache.waitForWrite(changed.resourceVersion, signal);
    return changed;
  }

  /** Returns undefined after a conflict. */
  async #attempt(
    { group: name, names, action, isDryRun }: MemberRequest,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<MembersChanged | undefined> {
    const found = await new ServiceResource(this.#context.services.apiServer.asService, groupKind).get(name, signal);
    if (found === undefined) throw notFound(groupResource, name);
    if (!isLocalGroup(found)) throw invalidUsers(name, forbiddenField('spec.users', 'the members are known by the issuer'));
    const members = membersOf(found);
    const { items, users, changed } = action === 'add' ? this.#with(members, names) : without(members, names);
    if (users.length > maxMembers) throw invalidUsers(name, tooMany('spec.users', users.length, maxMembers));
    const { uid } = found.metadata;
    if (changed.length === 0) return { uid, items, changed };
    const written = await this.#write(found, users, { caller, isDryRun, signal });
    if (written === undefined) return undefined;
    return isDryRun ? { uid, items, changed: [] } : { uid, items, changed, resourceVersion: written.metadata.resourceVersion };
  }

  async #write(
    { metadata: { name, uid, resourceVersion } }: KubernetesObject,
    users: readonly Member[],
    { caller, isDryRun, signal }: { caller: Caller; isDryRun: boolean; signal: AbortSignal },
  ): Promise<KubernetesObject | undefined> {
    try {
      const groups = new CallerResource(this.#context.services.apiServer.asCaller(caller), groupKind);
      return await groups.patch(name, { metadata: { uid, resourceVersion }, spec: { users } }, { isDryRun, signal });
    } catch (error) {
      if (isRefusal(error, 409)) return undefined;
      throw error;
    }
  }

  #with(members: readonly Member[], names: readonly string[]) {
    const { accounts, services } = this.#context;
    const old = new Set(members.map(({ name }) => name));
    const importTime = timestamp(services.now());
    const changed = names.filter((name) => !old.has(name) && accounts.get(name) !== undefined);
    const isNew = new Set(changed);
    const items = names.map((name): MemberItem => {
      if (isNew.has(name)) return { name, status: 'Success', code: 201 };
      if (old.has(name)) return { name, status: 'Success', code: 200 };
      return { name, status: 'Failure', code: 404, reason: 'NotFound', message: notFound(userResource, name).message };
    });
    return { items, changed, users: [...members, ...changed.map((name) => ({ name, importTime }))] };
  }
}

function without(members: readonly Member[], names: readonly string[]) {
  const old = new Set(members.map(({ name }) => name));
  const leaving = new Set(names);
  const items = names.map(
    (name): MemberItem =>
      old.has(name)
        ? { name, status: 'Success', code: 204 }
        : { name, status: 'Failure', code: 404, reason: 'NotFound', message: `${JSON.stringify(name)} is not a member` },
  );
  return { items, changed: names.filter((name) => old.has(name)), users: members.filter(({ name }) => !leaving.has(name)) };
}

const invalidUsers = (name: string, error: Required<StatusCause>) => invalid({ group: groupResource.group, kind: 'Group', name }, [error]);

/** @throws StatusError 400 */
function checkNames(names: readonly string[]): void {
  if (names.length === 0) throw badParameter('names', 'must hold at least one name', 'FieldValueRequired');
  if (names.length > maxMembers) throw badParameter('names', `must hold at most ${maxMembers} names`, 'FieldValueTooMany');
  const seen = new Set<string>();
  const twice = names.flatMap((name, index): StatusCause[] => {
    if (seen.has(name))
      return [{ reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(name)}`, field: `names[${index}]` }];
    seen.add(name);
    return [];
  });
  if (twice.length > 0) throw badRequest('names contains a name twice', twice);
}
