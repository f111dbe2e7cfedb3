import { z } from 'zod';
import { wholeNumber } from '../http/input.ts';

const maxLimit = 1000;

export const rolesQuery = z.object({
  name: z.string().min(1, 'must not be empty').optional().describe('Name of the User record. Default, without `email`: the caller.'),
  email: z.string().min(1, 'must not be empty').optional().describe('E-mail address or login name of the user.'),
  namespace: z.string().optional().describe('Selects bindings of this namespace. Empty: bindings of the whole cluster.'),
  via: z.enum(['User', 'Group']).optional().describe('Selects bindings that name the user, or a group.'),
  sortBy: z.enum(['role', 'namespace']).default('role').describe('Orders ties by the other property, then by binding.'),
  order: z.enum(['asc', 'desc']).default('asc').describe('Direction: ascending or descending.'),
  limit: wholeNumber({ cap: maxLimit })
    .default(100)
    .describe('Maximum number, 1 to 1000. Default: 100. A larger number is reduced to 1000.'),
  page: wholeNumber().default(1).describe('Page of `limit` roles, from 1. Empty past the last page.'),
});

export type RolesQuery = z.output<typeof rolesQuery>;

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

export type UserRole = z.output<typeof userRole>;

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

export type UserRoleList = z.output<typeof userRoleList>;
