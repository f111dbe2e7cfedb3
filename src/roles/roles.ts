/**
 * Lists the roles of a user: the bindings in the RBAC watch that name the user or one of the user's groups. Access reviews by the API
 * server tell what a role allows.
 */
import type { Caller } from '@atrium/http/caller.ts';
import { wholeNumber } from '@atrium/http/input.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import type { RoleBinding, Subject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { badRequest, notFound } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { groupNamesOf } from '../config/issuers.ts';
import type { Services } from '../services.ts';
import { type Account, recordName } from '../users/record/account.ts';
import { type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { isSelf, subjectNamesOf } from '../users/record/subject-name.ts';
import { typedAddress } from '../users/record/typed-address.ts';

const maxLimit = 1000;

const rolesQuery = z.object({
  name: z.string().min(1, 'must not be empty').optional().describe('Name of the User record. Default, without `email`: the caller.'),
  email: z.string().overwrite(typedAddress).min(1, 'must not be empty').optional().describe('E-mail address or login name of the user.'),
  namespace: z.string().optional().describe('Selects bindings of this namespace. Empty: bindings of the whole cluster.'),
  via: z.enum(['User', 'Group']).optional().describe('Selects bindings that name the user, or a group.'),
  sortBy: z.enum(['role', 'namespace']).default('role').describe('Orders ties by the other property, then by binding.'),
  order: z.enum(['asc', 'desc']).default('asc').describe('Direction: ascending or descending.'),
  limit: wholeNumber({ cap: maxLimit })
    .default(100)
    .describe('Maximum number, 1 to 1000. Default: 100. A larger number is reduced to 1000.'),
  page: wholeNumber().default(1).describe('Page of `limit` roles, from 1. Empty past the last page.'),
});

type RolesQuery = z.output<typeof rolesQuery>;

const userRole = z.object({
  role: z.string(),
  kind: z.enum(['Role', 'ClusterRole']),
  displayName: z.string().optional().describe('Display name of the annotation console.platform.io/display-name.'),
  missing: z.literal(true).optional().describe('`true` if the role does not exist.'),
  namespace: z.string().describe('Namespace of the binding. Empty: the whole cluster.'),
  via: z.enum(['User', 'Group']),
  subject: z.string().describe('Subject as the binding names it.'),
  source: z.enum(['rbac', 'userbinding']),
  binding: z.object({ kind: z.enum(['RoleBinding', 'ClusterRoleBinding']), name: z.string(), namespace: z.string() }),
  userBinding: z.string().optional().describe('UserBinding for which the binding was created.'),
});

type UserRole = z.output<typeof userRole>;

export const userRoleList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('UserRoleList'),
    metadata: z.object({}),
    total: z.int().describe('Number of matches on all pages.'),
    user: z.object({
      name: z.string().describe('Name of the User record. Empty for a caller without one.'),
      subjectName: z.string().describe('The user name that Kubernetes sees.'),
      groups: z.array(z.string()).describe('Groups as Kubernetes sees them.'),
    }),
    items: z.array(userRole),
  })
  .meta({
    id: 'UserRoleList',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'UserRoleList',
        metadata: {},
        total: 2,
        user: { name: '8c87b489ce35cf2e2f39f80e282cb2e8', subjectName: 'jane@example.com', groups: ['dev'] },
        items: [
          {
            role: 'view',
            kind: 'ClusterRole',
            namespace: '',
            via: 'Group',
            subject: 'dev',
            source: 'rbac',
            binding: { kind: 'ClusterRoleBinding', name: 'dev-view', namespace: '' },
          },
          {
            role: 'edit',
            kind: 'ClusterRole',
            namespace: 'shop',
            via: 'User',
            subject: 'jane@example.com',
            source: 'userbinding',
            binding: { kind: 'RoleBinding', name: 'ub-5c1f', namespace: 'shop' },
            userBinding: 'jane-edit-shop',
          },
        ],
      },
    ],
  });

type UserRoleList = z.output<typeof userRoleList>;

type User = UserRoleList['user'];

/** User whose roles are listed, with all names of this user in Kubernetes. */
interface Found {
  readonly user: User;
  readonly names: ReadonlySet<string>;
}

/** Group of all authenticated users, which says nothing about one of them. */
const allUsers = 'system:authenticated';

/** Sources of the roles. */
interface RolesContext {
  readonly services: Services;
  readonly accounts: AccountLookup;
  readonly localGroups: LocalGroupLookup;
}

/** @throws StatusError 400, 403, 404, 503 */
async function listRoles(context: RolesContext, query: RolesQuery, caller: Caller, signal: AbortSignal): Promise<UserRoleList> {
  const { rbac } = context.services;
  const { user, names } = await userOf(context, query, caller, signal);
  rbac.requireSynced();
  const subjects: Subject[] = [
    ...[...names].map((name) => ({ kind: 'User' as const, name })),
    ...user.groups.map((name) => ({ kind: 'Group' as const, name })),
  ];
  const roles = subjects
    .filter(({ kind }) => query.via === undefined || query.via === kind)
    .flatMap((subject) => rbac.bindingsOf(subject).map((binding) => roleOf(rbac, binding, subject)))
    .filter(({ namespace }) => query.namespace === undefined || query.namespace === namespace)
    .sort(byOrder(query));
  const start = (query.page - 1) * query.limit;
  const items = roles.slice(start, start + query.limit);
  return { apiVersion: 'auth.platform.io/v1', kind: 'UserRoleList', metadata: {}, total: roles.length, user, items };
}

async function userOf(
  { services, accounts, localGroups }: RolesContext,
  { name, email }: RolesQuery,
  caller: Caller,
  signal: AbortSignal,
): Promise<Found> {
  if (name !== undefined && email !== undefined) throw badRequest('give name or email, not both');
  requireAccounts(accounts);
  requireLocalGroups(localGroups);
  if (name === undefined && email === undefined) return actingUser(ownAccount(accounts, caller), caller, localGroups);
  const account = email === undefined ? accounts.get(name ?? '') : accounts.find(email);
  if (isSelf(account, caller)) return ownUser(account, caller, { services, localGroups });
  await services.access.require(
    caller,
    { ...userResource, subresource: 'roles', verb: 'get', ...(name !== undefined && { name }) },
    signal,
  );
  if (account === undefined) throw notFound(userResource, name ?? recordName(email ?? '') ?? String(email));
  const groups = withLocal(groupNamesOf(services.config, account), account, localGroups);
  return { user: { name: account.name, subjectName: account.subjectName, groups }, names: new Set(subjectNamesOf(account)) };
}

function roleOf(rbac: RbacWatch, binding: RoleBinding, { kind: via, name: subject }: Subject): UserRole {
  const role = rbac.roleOf(binding);
  const { kind, name, namespace } = binding;
  const { userBinding } = binding;
  return {
    role: binding.role.name,
    kind: binding.role.kind,
    ...(role?.displayName !== undefined && { displayName: role.displayName }),
    ...(role === undefined && { missing: true }),
    namespace,
    via,
    subject,
    source: userBinding === undefined ? 'rbac' : 'userbinding',
    binding: { kind, name, namespace },
    ...(userBinding !== undefined && { userBinding }),
  };
}

/** Returns the caller under the name of this login, without the names of linked accounts. */
const actingUser = (account: Account | undefined, { identity }: Caller, localGroups: LocalGroupLookup): Found => ({
  user: {
    name: account?.name ?? '',
    subjectName: identity.name,
    groups: withLocal(
      identity.groups.filter((group) => group !== allUsers),
      account,
      localGroups,
    ),
  },
  names: new Set([identity.name]),
});

/**
 * Returns the caller with the groups that the API server reports, also without a record. A token may lack a local group, or name one that
 * the user has left. Groups of linked accounts are in the record only.
 */
function ownUser(account: Account | undefined, { identity }: Caller, { services, localGroups }: Omit<RolesContext, 'accounts'>): Found {
  const told = identity.groups.filter((group) => group !== allUsers);
  const ofLinked = account?.linked === undefined ? [] : groupNamesOf(services.config, account);
  return {
    user: {
      name: account?.name ?? '',
      subjectName: identity.name,
      groups: withLocal([...told, ...ofLinked], account, localGroups),
    },
    names: new Set([identity.name, ...(account ? subjectNamesOf(account) : [])]),
  };
}

const withLocal = (groups: readonly string[], account: Account | undefined, localGroups: LocalGroupLookup): string[] => [
  ...new Set([...groups, ...(account ? localGroups.of(account.name) : [])]),
];

function byOrder({ sortBy, order }: Pick<RolesQuery, 'sortBy' | 'order'>): (left: UserRole, right: UserRole) => number {
  const keyOf = ({ role, namespace, binding, subject }: UserRole) =>
    [...(sortBy === 'role' ? [role, namespace] : [namespace, role]), binding.kind, binding.name, subject].join('\0');
  const sign = order === 'asc' ? 1 : -1;
  return (left, right) => {
    const [a, b] = [keyOf(left), keyOf(right)];
    return a === b ? 0 : sign * (a < b ? -1 : 1);
  };
}

/** Creates the operation of the feature. */
export function createRoles(context: RolesContext): { operations: Operation[] } {
  const listUsersRoles = operation({
    id: 'ListUsersRoles',
    method: 'GET',
    paths: ['/auth/v1/usersroles'],
    tag: 'users',
    summary: 'Lists the roles of a user: the caller, or a user whose roles the caller may get',
    description: 'Includes roles of groups. Roles of all logged-in users are left out.',
    credential: 'required',
    before: [compressed],
    query: rolesQuery,
    answers: {
      200: { description: 'A page of roles.', content: { 'application/json': userRoleList } },
      403: { description: 'RBAC denies it, also if the user does not exist.' },
      404: { description: 'The user does not exist.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await listRoles(context, query, caller, signal);
    },
  });
  return { operations: [listUsersRoles] };
}
