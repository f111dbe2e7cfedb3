/**
 * Which roles a user has: the bindings of the cluster that name them or a group of theirs, from what the service watches anyway. What
 * the roles allow, the API server says to an access review.
 */
import { type Operation, operation } from '../http/operation.ts';
import { compressed } from '../http/preparations.ts';
import { rolesQuery, userRoleList } from './schema.ts';
import { listRoles, type RolesContext } from './service.ts';

/** The feature: its one operation. */
export function createRoles(context: RolesContext): { operations: Operation[] } {
  const listUsersRoles = operation({
    id: 'ListUsersRoles',
    method: 'GET',
    paths: ['/auth/v1/usersroles'],
    tag: 'users',
    summary: 'Lists the roles that are bound to a user: oneself, or one whose roles the caller may get',
    description: 'Directly and through groups. Roles of all logged-in users are left out.',
    credential: 'required',
    before: [compressed],
    query: rolesQuery,
    answers: {
      200: { description: 'One page.', content: { 'application/json': userRoleList } },
      403: { description: 'The API server says no; the same whether or not there is such a user.' },
      404: { description: 'There is no such user.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await listRoles(context, query, caller, signal);
    },
  });
  return { operations: [listUsersRoles] };
}
