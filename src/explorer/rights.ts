/** Context of the explorer, and the rights that decide which bindings, roles and groups its callers see. */
import type { Caller } from '@atrium/http/caller.ts';
import type { ResourceAccess } from '@atrium/kubernetes/access.ts';
import type { RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import { managedName } from '../bindings/role-binding.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import { groupNamesOf } from '../config/issuers.ts';
import type { GroupRow } from '../groups/row.ts';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import { type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';

/** Dependencies on other modules. */
export interface ExplorerNeeds {
  readonly users: {
    readonly accounts: AccountLookup;
    readonly records: { names(): Iterable<string> };
  };
  readonly localGroups: LocalGroupLookup;
  /** Undefined if groups are off. */
  readonly groups: Collection<GroupRow> | undefined;
  /** Undefined if UserBindings are off. */
  readonly userBindings: Collection<UserBindingRow> | undefined;
}

export interface ExplorerContext extends ExplorerNeeds {
  readonly services: Services;
}

/** Call of an operation. */
export interface Asking {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** Returns all groups of a record as Kubernetes sees them. */
export const groupsOf = ({ services, localGroups }: ExplorerContext, account: Account): string[] => [
  ...new Set([...groupNamesOf(services.config, account), ...localGroups.of(account.name)]),
];

/** Returns the UserBinding that the service made a binding for. Undefined if its owner has another uid. */
export function userBindingOf(
  { userBindings }: Pick<ExplorerNeeds, 'userBindings'>,
  { name, userBinding }: Pick<RoleBinding, 'name' | 'userBinding'>,
): UserBindingRow | undefined {
  const row = userBinding === undefined ? undefined : userBindings?.cache.get(userBinding);
  return row !== undefined && managedName(row) === name ? row : undefined;
}

/** Reports whether the caller may know the groups of the record, or of all records. @throws StatusError 503, 504 */
export async function mayKnowGroups(
  { services, users, localGroups }: ExplorerContext,
  { caller, signal }: Asking,
  name?: string,
): Promise<boolean> {
  requireAccounts(users.accounts);
  requireLocalGroups(localGroups);
  return services.access.can(caller, { ...userResource, subresource: 'roles', verb: 'get', ...(name !== undefined && { name }) }, signal);
}

const rbacGroup = 'rbac.authorization.k8s.io';

/**
 * Requires the right to list the RoleBindings of a namespace, or of all namespaces for undefined.
 *
 * @returns whether the caller may list ClusterRoleBindings, too
 * @throws StatusError 403, 503, 504
 */
export async function requireBindings({ access }: Services, namespace: string | undefined, { caller, signal }: Asking): Promise<boolean> {
  const local = { group: rbacGroup, resource: 'rolebindings', verb: 'list', ...(namespace !== undefined && { namespace }) };
  await access.require(caller, local, signal);
  return access.can(caller, clusterWide, signal);
}

/** Requires the right to list ClusterRoleBindings. @throws StatusError 403, 503, 504 */
export const requireClusterBindings = ({ access }: Services, { caller, signal }: Asking): Promise<void> =>
  access.require(caller, clusterWide, signal);

const clusterWide: ResourceAccess = Object.freeze({ group: rbacGroup, resource: 'clusterrolebindings', verb: 'list' });

/** Requires the right to get all roles. @throws StatusError 403, 503, 504 */
export async function requireRoles({ access }: Services, { caller, signal }: Asking): Promise<void> {
  for (const resource of Object.values(pluralOf)) await access.require(caller, { group: rbacGroup, resource, verb: 'get' }, signal);
}

/** Roles that a caller may get. The rules of other roles are hidden. */
export class VisibleRoles {
  readonly #services: Services;
  readonly #asking: Asking;
  readonly #known = new Map<string, boolean>();

  constructor(services: Services, asking: Asking) {
    this.#services = services;
    this.#asking = asking;
  }

  /** Reviews the roles of the bindings. @throws StatusError 429, 503, 504 */
  async review(bindings: Iterable<RoleBinding>): Promise<void> {
    const { access } = this.#services;
    const { caller, signal } = this.#asking;
    const unknown = new Map<string, ResourceAccess>();
    for (const binding of bindings) {
      const key = keyOf(binding);
      if (!this.#known.has(key)) unknown.set(key, gettingOf(binding));
    }
    if (unknown.size === 0) return;
    // Most callers may get all roles, or none.
    const wide = await Promise.all(
      (['Role', 'ClusterRole'] as const).map((kind) =>
        access.can(caller, { group: rbacGroup, resource: pluralOf[kind], verb: 'get' }, signal),
      ),
    );
    const isWide = { Role: wide[0] === true, ClusterRole: wide[1] === true };
    const left = [...unknown].filter(([key, { resource }]) => {
      const isKnown = isWide[resource === pluralOf.Role ? 'Role' : 'ClusterRole'];
      if (isKnown) this.#known.set(key, true);
      return !isKnown;
    });
    const answers = await access.canEach(
      caller,
      left.map(([, getting]) => getting),
      signal,
    );
    for (const [index, [key]] of left.entries()) this.#known.set(key, answers[index] === true);
  }

  /** Reports whether a reviewed role is visible. */
  has(binding: RoleBinding): boolean {
    return this.#known.get(keyOf(binding)) === true;
  }
}

const pluralOf = { Role: 'roles', ClusterRole: 'clusterroles' } as const;

const namespaceOf = ({ role, namespace }: RoleBinding) => (role.kind === 'Role' ? namespace : '');

const keyOf = (binding: RoleBinding) => `${binding.role.kind} ${namespaceOf(binding)} ${binding.role.name}`;

const gettingOf = (binding: RoleBinding): ResourceAccess => ({
  group: rbacGroup,
  resource: pluralOf[binding.role.kind],
  verb: 'get',
  name: binding.role.name,
  ...(binding.role.kind === 'Role' && { namespace: binding.namespace }),
});
