/**
 * Which roles a user has: the bindings of the cluster that name them or a group of theirs, from what the service watches anyway. What
 * the roles allow, the API server says to an access review.
 */

import type { Config } from '../config/schema.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { RbacWatch } from '../rbac/watch.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { rolesQuery, userRoleList } from './schema.ts';
import { RolesService } from './service.ts';

export interface RolesOptions {
  access: AccessReviews;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  rbac: RbacWatch;
  config: Pick<Config, 'login'>;
}

/** The feature: its one operation. */
export function createRoles({ access, accounts, localGroups, rbac, config }: RolesOptions): { operations: Operation[] } {
  const service = new RolesService({ access, accounts, localGroups, rbac, claims: config.login.claims });
  const listUsersRoles = operation({
    id: 'ListUsersRoles',
    method: 'GET',
    paths: ['/auth/v1/usersroles'],
    tag: 'users',
    summary: 'Lists the roles that are bound to a user: oneself, or one whose roles the caller may get',
    description: 'Directly and through groups. Roles of all logged-in users are left out.',
    credential: 'required',
    isCompressed: true,
    query: rolesQuery,
    answers: {
      200: { description: 'One page.', content: { 'application/json': userRoleList } },
      403: { description: 'The API server says no; the same whether or not there is such a user.' },
      404: { description: 'There is no such user.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await service.list(query, caller, signal);
    },
  });
  return { operations: [listUsersRoles] };
}
