import { type StatusError, serviceUnavailable } from '../../api/status.ts';
import type { ResourceType } from '../../kubernetes/resource.ts';
import type { Change, WatchCache, WatchState } from '../../kubernetes/watch-cache.ts';

/** The custom resource Group; deploy/manifests holds its definition. */
export const groupResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'groups' };

export const groupApiVersion = `${groupResource.group}/${groupResource.version}`;

/** Members taken out by one write: the admission policy of the chart lets the service take out no more. */
export const maxLeaving = 99;

const prefix = 'local:';

/** How Kubernetes sees a group that is kept here, whatever prefix the groups of an issuer get. */
export const localGroupName = (name: string): string => `${prefix}${name}`;

/** The Group that is called so. */
export const localGroupOf = (name: string): string => name.slice(prefix.length);

/** Whether that is the name of a group that is kept here: no group of an issuer or directory can be called so. */
export const isLocalGroupName = (name: string): boolean => name.startsWith(prefix);

/** What is known of a group: the User records in it; none where an issuer knows the members. */
interface GroupMembers {
  readonly name: string;
  readonly members: readonly string[];
}

type Groups = Pick<WatchCache<GroupMembers>, 'onChange' | 'state' | 'unavailable' | 'outdated'>;

/** Which local groups a user is in, as far as this replica has seen the cluster. */
export interface LocalGroupLookup {
  /** Names of the local groups that a User record is in, as Kubernetes sees them (`local:dev`), sorted. */
  of(userName: string): readonly string[];
  readonly state: WatchState;
  /** For a caller who needs them while they are not known: what to apply, or to try again. */
  unavailable(): StatusError;
  /** Why they may not be what there is now; undefined if they are. */
  outdated(): string | undefined;
}

/** Where groups are turned off they have no members. */
export const noLocalGroups: LocalGroupLookup = {
  of: () => [],
  state: 'synced',
  unavailable: () => serviceUnavailable('kubernetes'),
  outdated: () => undefined,
};

/**
 * To be called before they are relied on: who is left out of a group for not being known yet would lose rights for as long as a token
 * lives. Without the resource in the cluster there are no groups.
 *
 * @throws StatusError 503 while they are not known
 */
export function requireLocalGroups(groups: LocalGroupLookup): void {
  if (groups.state === 'pending') throw groups.unavailable();
}

/** The same where a group too few would be a right too many: what may be old does not count. @throws StatusError 503 */
export function requireCurrentGroups(groups: LocalGroupLookup): void {
  if (groups.outdated() !== undefined) throw groups.unavailable();
}

/** Reads local groups out of a watch cache of Groups. To be made before the cache is started. */
export class LocalGroups implements LocalGroupLookup {
  readonly #groups: Groups;
  readonly #byMember = new Map<string, Set<string>>();

  constructor(groups: Groups) {
    this.#groups = groups;
    groups.onChange((change) => this.#record(change));
  }

  get state(): WatchState {
    return this.#groups.state;
  }

  unavailable(): StatusError {
    return this.#groups.unavailable();
  }

  outdated(): string | undefined {
    return this.#groups.outdated();
  }

  of(userName: string): readonly string[] {
    return this.namesOf(userName).map(localGroupName).sort();
  }

  /** The same, by the names of the Groups. */
  namesOf(userName: string): readonly string[] {
    return [...(this.#byMember.get(userName) ?? [])];
  }

  #record({ old, new: current }: Change<GroupMembers>): void {
    for (const member of old?.members ?? []) {
      const names = this.#byMember.get(member);
      names?.delete(old?.name ?? '');
      if (names?.size === 0) this.#byMember.delete(member);
    }
    for (const member of current?.members ?? []) {
      const names = this.#byMember.get(member);
      if (names === undefined) this.#byMember.set(member, new Set([current?.name ?? '']));
      else names.add(current?.name ?? '');
    }
  }
}
