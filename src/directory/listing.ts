import type { Connector } from './connection.ts';
import type { Listing } from './connector-sync.ts';
import type { Membership } from './directory-users.ts';
import { dnKey } from './person.ts';
import type { SyncError } from './schema.ts';
import { DirectorySession } from './session.ts';

/**
 * Reads a directory to the end, and calls `use` while the connection is still open for searches.
 *
 * @param use receives the listing; its result is returned
 * @throws DirectoryError
 */
export async function withListing<T>(connector: Connector, use: (listing: Listing) => Promise<T>, signal: AbortSignal): Promise<T> {
  const session = await DirectorySession.open(connector, signal);
  try {
    const { people, unfit } = await session.people();
    const groups = await session.groups();
    const errors: SyncError[] = unfit.map((dn) => ({
      reason: 'Unfit',
      message: 'the entry has no e-mail address or login string that a user can have, or no id',
      entry: dn,
    }));
    const members: Membership[] = [];
    const emails = new Set<string>();
    for (const person of people) {
      const email = person.email.toLowerCase();
      if (emails.has(email)) errors.push({ reason: 'Duplicate', message: 'another entry has the same e-mail address', entry: person.dn });
      else members.push({ person, groups: groups.get(dnKey(person.dn)) ?? [] });
      emails.add(email);
    }
    return await use({ fetched: people.length + unfit.length, members, errors, hasAny: (names) => session.hasAny(names) });
  } finally {
    await session.close();
  }
}
