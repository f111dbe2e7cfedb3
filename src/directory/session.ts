import { readFile } from 'node:fs/promises';
import { AndFilter, type Entry, EqualityFilter, type Filter, FilterParser, OrFilter, ResultCodeError } from 'ldapts';
import { Connection, type Connector } from './connection.ts';
import { DirectoryError, reasonOf } from './directory-error.ts';
import { dnKey } from './dn-key.ts';
import { type Person, personOf, valuesOf } from './person.ts';

const pageSize = 500;
const timeLimitSeconds = 30;
/** Names in one search for several. */
const batch = 50;

/** Result codes with which servers say no to a person: wrong or no password, locked, not allowed to (RFC 4511 appendix A). */
const refusals = new Set([19, 32, 34, 48, 49, 50, 53]);

/** What a directory has listed: people, and the DNs of entries that cannot be users. */
export interface Listed {
  people: Person[];
  unfit: string[];
}

/** A directory that we may search, until it is closed. Referrals are not followed: who they point to was not asked for. */
export class DirectorySession {
  readonly #connector: Connector;
  readonly #connection: Connection;
  readonly #filters: { people: Filter; groups: Filter | undefined };

  private constructor(connector: Connector, connection: Connection, filters: { people: Filter; groups: Filter | undefined }) {
    this.#connector = connector;
    this.#connection = connection;
    this.#filters = filters;
  }

  /** @param signal cuts the connection when it aborts; @throws DirectoryError NotConfigured, Unreachable, BindRefused */
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

  /** All users. @throws DirectoryError Incomplete */
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

  /** The names of groups by the `dnKey` of each of their members. @throws DirectoryError Incomplete */
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

  /** Whether there is an entry with any of these e-mail addresses. @throws DirectoryError Incomplete */
  async hasAny(emails: readonly string[]): Promise<boolean> {
    for (let start = 0; start < emails.length; start += batch) {
      const some = new OrFilter({ filters: emails.slice(start, start + batch).map((email) => this.#isEmail(email)) });
      const filter = new AndFilter({ filters: [this.#filters.people, some] });
      for await (const _entry of this.#entries(this.#connector.baseDN, filter, ['1.1'])) return true;
    }
    return false;
  }

  /** Who has that e-mail address; undefined if none has, or several. @throws DirectoryError Incomplete */
  async find(email: string): Promise<Person | undefined> {
    const filter = new AndFilter({ filters: [this.#filters.people, this.#isEmail(email)] });
    const found: Entry[] = [];
    const { id } = this.#connector.attributes;
    for await (const entry of this.#entries(this.#connector.baseDN, filter, this.#attributes, [id])) found.push(entry);
    const [entry, other] = found;
    const person = entry && other === undefined ? personOf(entry, this.#connector) : undefined;
    // The server may compare by rules of its own, such as leaving out spaces.
    return person?.email.toLowerCase() === email.toLowerCase() ? person : undefined;
  }

  /** The names of the groups of a user, compared by the server. @throws DirectoryError Incomplete */
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
 * Whether that is the password of the entry, by a bind as it, on a connection of its own.
 *
 * @throws DirectoryError NotConfigured, Unreachable
 */
export async function bindsAs(connector: Connector, dn: string, password: string, signal: AbortSignal): Promise<boolean> {
  // A bind without a name or a password succeeds anonymously (RFC 4513 5.1.2): it proves nothing.
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

/** Read each time, so that a Secret that was rotated counts. */
async function secretOf({ bindDN, bindPasswordFile }: Connector): Promise<string> {
  if (bindDN === undefined) return '';
  try {
    const password = (await readFile(bindPasswordFile ?? '', 'utf8')).trim();
    if (password !== '') return password;
  } catch (error) {
    throw new DirectoryError('NotConfigured', 'bindPasswordFile cannot be read', { cause: error });
  }
  throw new DirectoryError('NotConfigured', 'bindPasswordFile is empty');
}
