/**
 * Lists the roles of a user: the bindings in the RBAC watch that name the user or one of the user's groups. Access reviews by the API
 * server tell what a role allows.
 */
import { type Operation, operation } from '../http/operation.ts';
import { compressed } from '../http/preparations.ts';
import { rolesQuery, userRoleList } from './schema.ts';
import { listRoles, type RolesContext } from './service.ts';

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
