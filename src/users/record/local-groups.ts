import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import type { Change, WatchCache, WatchState } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type StatusError, serviceUnavailable } from '@atrium/objects/status.ts';

/** Custom resource Group, defined in deploy/manifests. */
export const groupResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'groups' };

export const groupApiVersion = `${groupResource.group}/${groupResource.version}`;

/** Maximum number of members that one write removes. The admission policy of the chart permits the service no more. */
export const maxLeaving = 99;

const prefix = 'local:';

/** Returns the name of a local group in Kubernetes, whatever prefix the groups of an issuer have. */
export const localGroupName = (name: string): string => `${prefix}${name}`;

/** Returns the name of the Group object of a local group. */
export const localGroupOf = (name: string): string => name.slice(prefix.length);

/** Reports whether the name is that of a local group. Groups of issuers and directories with such names are ignored. */
export const isLocalGroupName = (name: string): boolean => name.startsWith(prefix);

export const withoutLocalGroups = (names: readonly string[]): string[] => names.filter((name) => !isLocalGroupName(name));

/** Group and the User records in it. Empty if an issuer knows the members. */
interface GroupMembers {
  readonly name: string;
  readonly members: readonly string[];
}

type Groups = Pick<WatchCache<GroupMembers>, 'onChange' | 'state' | 'unavailable' | 'outdated'>;

/** Local groups of users, as far as this replica has seen the cluster. */
export interface LocalGroupLookup {
  /** Returns the sorted names of the user's local groups in Kubernetes (`local:dev`). */
  of(userName: string): readonly string[];
  readonly state: WatchState;
  /** Returns the error for callers while the groups are unknown, which says what to apply, or to retry. */
  unavailable(): StatusError;
  /** Returns why the groups may be outdated, or undefined if they are current. */
  outdated(): string | undefined;
}

/** Lookup without members, for installations with groups turned off. */
export const noLocalGroups: LocalGroupLookup = {
  of: () => [],
  state: 'synced',
  unavailable: () => serviceUnavailable('kubernetes'),
  outdated: () => undefined,
};

/**
 * Requires that the groups are known. A user who is left out of an unknown group would lose its rights for the lifetime of a token. Without
 * the resource in the cluster there are no groups.
 *
 * @throws StatusError 503 while they are unknown
 */
export function requireLocalGroups(groups: LocalGroupLookup): void {
  if (groups.state === 'pending') throw groups.unavailable();
}

/** Requires current groups, because a missing group would permit too much. Possibly outdated groups are refused. @throws StatusError 503 */
export function requireCurrentGroups(groups: LocalGroupLookup): void {
  if (groups.outdated() !== undefined) throw groups.unavailable();
}

/** Looks up local groups in a watch cache of Groups. Created before the cache is started. */
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

  /** Returns the names of the Group objects of the user. */
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
