import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { Connector } from './connection.ts';
import type { Membership } from './directory-users.ts';
import { DirectoryGroups } from './groups.ts';
import { dnKey, type KnownUser, type Person, type PersonEntry } from './person.ts';
import type { SyncError } from './schema.ts';
import { DirectorySession } from './session.ts';

/** Entries of a directory, read to the end. */
export interface Listing {
  /** Number of entries, with entries that cannot be users. */
  fetched: number;
  members: readonly Membership[];
  errors: readonly SyncError[];
  warnings: readonly SyncError[];
  /** False if the directory referred to other servers, which may have the users that are not listed. */
  isWhole: boolean;
  /** Reports whether a listed entry is or may be that of the user. */
  has(user: KnownUser): boolean;
  /** Searches the directory for these users, and reports whether it has an entry of one of them that it did not list. */
  leftOut(users: readonly KnownUser[]): Promise<boolean>;
}

const searchesAtOnce = 8;

/**
 * Reads a directory to the end, and calls `use` while the connection is still open for searches.
 *
 * @param use receives the listing; its result is returned
 * @throws DirectoryError
 */
export async function withListing<T>(connector: Connector, use: (listing: Listing) => Promise<T>, signal: AbortSignal): Promise<T> {
  const session = await DirectorySession.open(connector, signal);
  try {
    const { entries, hasReferences } = await session.people();
    const people = entries.flatMap(({ person }) => person ?? []);
    const groups = await membershipsOf(session, connector, people);
    const listed = new ListedEntries(entries);
    return await use({
      fetched: entries.length,
      members: groups.members,
      errors: entries.filter(({ person }) => person === undefined).map(({ dn }) => unfit(dn)),
      warnings: [...(hasReferences ? [notFollowed('users')] : []), ...groups.warnings],
      isWhole: !hasReferences,
      has: (user) => listed.has(user),
      leftOut: async (users) => (await session.holders(users)).some((entry) => !listed.includes(entry)),
    });
  } finally {
    await session.close();
  }
}

/** Entries by id and address. */
class ListedEntries {
  readonly #ids = new Set<string>();
  readonly #dns = new Set<string>();
  readonly #addresses = new Set<string>();
  readonly #addressesWithoutID = new Set<string>();

  constructor(entries: readonly PersonEntry[]) {
    for (const { dn, id, addresses } of entries) {
      if (id !== '') this.#ids.add(id);
      this.#dns.add(dnKey(dn));
      for (const address of addresses) {
        this.#addresses.add(address);
        if (id === '') this.#addressesWithoutID.add(address);
      }
    }
  }

  /** A user with an id is found by it. An entry without a readable id may be any user that has one of its addresses. */
  has({ email, ids }: KnownUser): boolean {
    const address = email.toLowerCase();
    if (ids.length === 0) return this.#addresses.has(address);
    return ids.some((id) => this.#ids.has(id)) || this.#addressesWithoutID.has(address);
  }

  includes({ dn, id }: PersonEntry): boolean {
    return this.#dns.has(dnKey(dn)) || this.#ids.has(id);
  }
}

interface Memberships {
  members: Membership[];
  warnings: SyncError[];
}

async function membershipsOf(session: DirectorySession, connector: Connector, people: readonly Person[]): Promise<Memberships> {
  const settings = connector.groups;
  if (settings === undefined) return { members: people.map((person) => ({ person, groups: [], areGroupsWhole: true })), warnings: [] };
  const { entries, hasReferences } = await session.groups();
  const groups = new DirectoryGroups(entries, settings);
  const areGroupsWhole = !hasReferences;
  const namesOf = async (person: Person) =>
    settings.nested === 'matchingRule' ? (await session.groupsOf(person)).names : (await groups.of(person)).map(({ name }) => name);
  const members = await mapLimit(searchesAtOnce, people, async (person) => ({ person, groups: await namesOf(person), areGroupsWhole }));
  const unknown = people.filter((person) => person.primaryGroupSID !== '' && groups.primaryOf(person) === undefined).length;
  const warnings = [
    ...(hasReferences ? [notFollowed('groups')] : []),
    ...(groups.hasUnfollowed ? [nestedGroups] : []),
    ...(unknown === 0 ? [] : [settings.primary ? primaryNotListed(unknown) : primaryGroups]),
  ];
  return { members, warnings };
}

const unfit = (entry: string): SyncError => ({
  reason: 'Unfit',
  message: 'the entry has no e-mail address or login string that a user can have, or no id',
  entry,
});

const notFollowed = (what: 'users' | 'groups'): SyncError => ({
  reason: 'ReferralsNotFollowed',
  message: `the directory refers to other servers for further ${what}, and referrals are not followed: no ${what === 'users' ? 'user becomes invalid' : 'user loses a group'}. Add those servers as directories of their own, or set referrals to ignore if they have none`,
});

const nestedGroups: SyncError = {
  reason: 'NestedGroupsNotFollowed',
  message: 'groups are members of other groups, and groups.nested is set to none: users are members of the inner groups alone',
};

const primaryGroups: SyncError = {
  reason: 'PrimaryGroupsNotFollowed',
  message: 'users have primary groups, and groups.primary is false: users are not in their primary groups',
};

const primaryNotListed = (count: number): SyncError => ({
  reason: 'PrimaryGroupsNotFound',
  message: `the primary groups of ${count} users are outside groups.baseDN and groups.filter, and are ignored`,
});
