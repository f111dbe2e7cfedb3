import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { StandardResource } from '../collection/resource-declaration.ts';
import { StandardWrites } from '../collection/standard-writes.ts';
import type { Services } from '../services.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { bindingProperties, type UserBindingRow, userBindingRow } from './row.ts';
import { bindingName, type NewBinding, userBindingKind, userBindingSchema } from './schema.ts';
import { bindingStrategy } from './strategy.ts';

/** Writes of UserBindings, also those of a simulation. */
export const bindingWrites = (services: Services, cache: WatchCache<UserBindingRow>): StandardWrites<NewBinding, never> =>
  new StandardWrites(services, cache, userBindingKind, bindingStrategy(services, cache));

/** UserBindings as a resource with the standard operations. They are not changed: another role is another binding. */
export const bindingDefinition = (
  services: Services,
  cache: WatchCache<UserBindingRow>,
  accounts: Pick<AccountLookup, 'get'>,
): StandardResource<UserBindingRow, NewBinding, never> => ({
  kind: userBindingKind,
  path: '/auth/v2/userbindings',
  tag: 'userbindings',
  ids: { one: 'UserBinding', many: 'UserBindings' },
  nouns: { one: 'UserBinding', many: 'UserBindings' },
  name: bindingName,
  schema: userBindingSchema,
  properties: bindingProperties,
  strategy: bindingStrategy(services, cache),
  get: { summary: 'Shows a UserBinding with its status' },
  create: {
    summary: 'Binds a ClusterRole to users and groups, for callers who may bind it',
    description: 'The role takes effect when `status.phase` becomes `Synced`, within seconds.',
    answers: {
      403: { description: 'RBAC denies creating UserBindings or binding that role, or the caller uses an access token.' },
      422: {
        description:
          'The UserBinding is invalid, or the ClusterRole does not exist or cannot be bound by the service. Causes name every violation.',
      },
    },
    audit: 'UserBindingCreated',
    grantOf: (object) => grantOf(userBindingRow(object), accounts),
  },
  delete: {
    summary: 'Deletes a UserBinding and its role bindings',
    answers: {
      204: { description: 'The UserBinding is deleted, or exists until its role bindings are deleted.' },
      403: { description: 'RBAC denies it.' },
    },
    audit: 'UserBindingDeleted',
    grantOf: (row) => grantOf(row, accounts),
  },
  deleteMany: { summary: 'Deletes named or selected UserBindings', resultKind: 'UserBindingDeleteResult' },
});

/** Bound of the subjects and namespaces in an event. */
const maxGranted = 16;

/** Returns the role that a binding gives or gave, with users by their names in Kubernetes. */
function grantOf({ roleRef, subjects, namespaces, expiresAt }: UserBindingRow, accounts: Pick<AccountLookup, 'get'>) {
  const nameOf = (name: string) => accounts.get(name)?.subjectName || accounts.get(name)?.email || name;
  return {
    role: `ClusterRole/${roleRef}`,
    subjects: subjects.slice(0, maxGranted).map(({ kind, name }) => `${kind}/${kind === 'User' ? nameOf(name) : name}`),
    ...(namespaces.length > 0 && { namespaces: namespaces.slice(0, maxGranted) }),
    ...(expiresAt !== undefined && { until: timestamp(new Date(expiresAt)) }),
  };
}
