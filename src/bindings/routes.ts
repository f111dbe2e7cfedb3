/** The operation on ClusterRoles that UserBindings can name. The others are the standard ones (`definition.ts`). */
import { compressed, operation } from '@atrium/http/operation.ts';
import type { Services } from '../services.ts';
import { bindableRoleList, listBindableRoles } from './bindable-roles.ts';

export const bindableRolesOperation = (services: Services) =>
  operation({
    id: 'ListBindableRoles',
    method: 'GET',
    paths: ['/auth/v2/bindableroles'],
    tag: 'userbindings',
    summary: 'Lists ClusterRoles, and reports which of them UserBindings can name',
    description: 'A role that is not `isBindable` may still work if the service holds all of its rules. A dry run decides.',
    credential: 'required',
    before: [compressed],
    answers: {
      200: { description: 'All ClusterRoles.', content: { 'application/json': bindableRoleList } },
      403: { description: 'RBAC denies it.' },
    },
    async handle({ ctx, caller, signal }) {
      ctx.body = await listBindableRoles(services, caller, signal);
    },
  });
