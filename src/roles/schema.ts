import { z } from 'zod';
import { wholeNumber } from '../http/input.ts';

const maxLimit = 1000;

export const rolesQuery = z.object({
  name: z.string().min(1, 'must not be empty').optional().describe('Name of the record. Neither name nor email: oneself.'),
  email: z.string().min(1, 'must not be empty').optional().describe('E-mail address or login name of the user.'),
  namespace: z.string().optional().describe('Only bindings in this namespace; empty for those of the whole cluster.'),
  via: z.enum(['User', 'Group']).optional().describe('Only bindings that name the user, or a group.'),
  sortBy: z.enum(['role', 'namespace']).default('role').describe('Ties are in the order of the other, then of the bindings.'),
  order: z.enum(['asc', 'desc']).default('asc').describe('Ascending or descending.'),
  limit: wholeNumber({ cap: maxLimit }).default(100).describe('How many at most, 1-1000, default 100; more counts as 1000.'),
  page: wholeNumber().default(1).describe('Which page of `limit` roles, from 1; past the end it is empty.'),
});

export type RolesQuery = z.output<typeof rolesQuery>;

const userRole = z.object({
  role: z.string(),
  kind: z.enum(['Role', 'ClusterRole']),
  displayName: z.string().optional().describe('What the role says of itself in the annotation console.platform.io/display-name.'),
  missing: z.literal(true).optional().describe('There is no such role.'),
  namespace: z.string().describe('Empty: in the whole cluster.'),
  via: z.enum(['User', 'Group']),
  subject: z.string().describe('As the binding names it.'),
  source: z.enum(['rbac', 'userbinding']),
  binding: z.object({ kind: z.enum(['RoleBinding', 'ClusterRoleBinding']), name: z.string(), namespace: z.string() }),
  userBinding: z.string().optional().describe('The UserBinding that the binding was made for.'),
});

export type UserRole = z.output<typeof userRole>;

export const userRoleList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('UserRoleList'),
    metadata: z.object({}),
    total: z.int().describe('How many match, on all pages.'),
    user: z.object({
      name: z.string().describe('Of the record; empty for a caller who has none.'),
      subjectName: z.string().describe('The user name that Kubernetes sees.'),
      groups: z.array(z.string()).describe('As Kubernetes sees them.'),
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
