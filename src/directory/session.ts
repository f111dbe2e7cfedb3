import { AndFilter, type Entry, EqualityFilter, type Filter, FilterParser, OrFilter, ResultCodeError } from 'ldapts';
import { readSecretFile } from '../config/secret-file.ts';
import { Connection, type Connector, DirectoryError, reasonOf } from './connection.ts';
import type { Listing } from './connector-sync.ts';
import type { Membership } from './directory-users.ts';
import { dnKey, type Person, personOf, valuesOf } from './person.ts';
import type { SyncError } from './schema.ts';

const pageSize = 500;
const timeLimitSeconds = 30;
/** Addresses in one search. */
const batch = 50;

/** Result codes of a refused bind: wrong or missing password, locked account, bind not permitted (RFC 4511 appendix A). */
const refusals = new Set([19, 32, 34, 48, 49, 50, 53]);

/** Entries of a directory: people, and the DNs of entries that cannot be users. */
export interface Listed {
  people: Person[];
  unfit: string[];
}

/** A connection that may search a directory. Referrals are not followed, because they lead to servers that are not configured. */
export class DirectorySession {
  readonly #connector: Connector;
  readonly #connection: Connection;
  readonly #filters: { people: Filter; groups: Filter | undefined };

  private constructor(connector: Connector, connection: Connection, filters: { people: Filter; groups: Filter | undefined }) {
    this.#connector = connector;
    this.#connection = connection;
    this.#filters = filters;
  }

  /** @param signal closes the connection when it aborts; @throws DirectoryError NotConfigured, Unreachable, BindRefused */
  static async open(connector: Connector, signal: AbortSignal): Promise<DirectorySession> {
    const people = parsed(connector.filter, 'filter');
    const groups = connector.groups && parsed(connector.groups.filter, 'groups.filter');
    const password = await secretOf(connector);
    const connection = await Connection.open(connector, signal);
    try {
      if (connector.bindDN !== undefined) await connection.client.bind(connector.bindDN, password);
    } catch (error) {
      await connection.close();
      const reason = error instanceof ResultCodeError ? 'BindRefused' : 'Unreachable';
      throw new DirectoryError(reason, `the directory does not take bindDN and its password: ${reasonOf(error)}`, { cause: error });
    }
    return new DirectorySession(connector, connection, { people, groups });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Returns all users. @throws DirectoryError Incomplete */
  async people(): Promise<Listed> {
    const listed: Listed = { people: [], unfit: [] };
    const { id } = this.#connector.attributes;
    for await (const entry of this.#entries(this.#connector.baseDN, this.#filters.people, this.#attributes, [id])) {
      const person = personOf(entry, this.#connector);
      if (person === undefined) listed.unfit.push(entry.dn);
      else listed.people.push(person);
    }
    return listed;
  }

  /** Returns the names of groups by the `dnKey` of their members. @throws DirectoryError Incomplete */
  async groups(): Promise<Map<string, string[]>> {
    const { groups } = this.#connector;
    const byMember = new Map<string, string[]>();
    if (groups === undefined || this.#filters.groups === undefined) return byMember;
    for await (const entry of this.#entries(groups.baseDN, this.#filters.groups, [groups.name, groups.member])) {
      const [name] = valuesOf(entry, groups.name);
      if (typeof name !== 'string') continue;
      for (const member of valuesOf(entry, groups.member)) {
        if (typeof member !== 'string') continue;
        const key = dnKey(member);
        const names = byMember.get(key);
        if (names === undefined) byMember.set(key, [name]);
        else names.push(name);
      }
    }
    return byMember;
  }

  /** Reports whether an entry has one of these e-mail addresses. @throws DirectoryError Incomplete */
  async hasAny(emails: readonly string[]): Promise<boolean> {
    for (let start = 0; start < emails.length; start += batch) {
      const some = new OrFilter({ filters: emails.slice(start, start + batch).map((email) => this.#isEmail(email)) });
      const filter = new AndFilter({ filters: [this.#filters.people, some] });
      for await (const _entry of this.#entries(this.#connector.baseDN, filter, ['1.1'])) return true;
    }
    return false;
  }

  /** Returns the user with that e-mail address; undefined unless exactly one entry has it. @throws DirectoryError Incomplete */
  async find(email: string): Promise<Person | undefined> {
    const filter = new AndFilter({ filters: [this.#filters.people, this.#isEmail(email)] });
    const found: Entry[] = [];
    const { id } = this.#connector.attributes;
    for await (const entry of this.#entries(this.#connector.baseDN, filter, this.#attributes, [id])) found.push(entry);
    const [entry, other] = found;
    const person = entry && other === undefined ? personOf(entry, this.#connector) : undefined;
    // The server may match by looser rules, such as ignoring spaces.
    return person?.email.toLowerCase() === email.toLowerCase() ? person : undefined;
  }

  /** Returns the names of the groups of a user. The server compares the DN. @throws DirectoryError Incomplete */
  async groupsOf({ dn }: Person): Promise<string[]> {
    const { groups } = this.#connector;
    if (groups === undefined || this.#filters.groups === undefined) return [];
    const isMember = new EqualityFilter({ attribute: groups.member, value: dn });
    const names: string[] = [];
    for await (const entry of this.#entries(groups.baseDN, new AndFilter({ filters: [this.#filters.groups, isMember] }), [groups.name])) {
      const [name] = valuesOf(entry, groups.name);
      if (typeof name === 'string') names.push(name);
    }
    return names;
  }

  get #attributes(): string[] {
    return Object.values(this.#connector.attributes);
  }

  #isEmail(email: string): Filter {
    return new EqualityFilter({ attribute: this.#connector.attributes.email, value: email });
  }

  async *#entries(baseDN: string, filter: Filter, attributes: string[], asBytes: string[] = []): AsyncGenerator<Entry> {
    const options = { scope: 'sub', derefAliases: 'never', filter, attributes, explicitBufferAttributes: asBytes } as const;
    try {
      const pages = this.#connection.client.searchPaginated(baseDN, { ...options, timeLimit: timeLimitSeconds, paged: { pageSize } });
      for await (const { searchEntries } of pages) yield* searchEntries;
    } catch (error) {
      throw new DirectoryError('Incomplete', `the directory did not answer a search to its end: ${reasonOf(error)}`, { cause: error });
    }
  }
}

/**
 * Verifies the password of an entry by a bind on a separate connection.
 *
 * @throws DirectoryError NotConfigured, Unreachable
 */
export async function bindsAs(connector: Connector, dn: string, password: string, signal: AbortSignal): Promise<boolean> {
  // A bind without a name or a password succeeds anonymously (RFC 4513 5.1.2), and proves no password.
  if (!dn.includes('=') || password === '') return false;
  const connection = await Connection.open(connector, signal);
  try {
    await connection.client.bind(dn, password);
    return true;
  } catch (error) {
    if (error instanceof ResultCodeError && refusals.has(error.code)) return false;
    throw new DirectoryError('Unreachable', `the directory did not answer a bind: ${reasonOf(error)}`, { cause: error });
  } finally {
    await connection.close();
  }
}

function parsed(filter: string, setting: string): Filter {
  try {
    return FilterParser.parseString(filter);
  } catch (error) {
    throw new DirectoryError('NotConfigured', `${setting} is no LDAP filter`, { cause: error });
  }
}

/** Reads the password at each call, so that a rotated Secret takes effect. */
async function secretOf({ bindDN, bindPasswordFile }: Connector): Promise<string> {
  if (bindDN === undefined) return '';
  try {
    const password = await readSecretFile(bindPasswordFile ?? '');
    if (password !== '') return password;
  } catch (error) {
    throw new DirectoryError('NotConfigured', 'bindPasswordFile cannot be read', { cause: error });
  }
  throw new DirectoryError('NotConfigured', 'bindPasswordFile is empty');
}

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
