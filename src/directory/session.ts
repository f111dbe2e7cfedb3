import { setImmediate as turn } from 'node:timers/promises';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import { AndFilter, EqualityFilter, ExtensibleFilter, type Filter, FilterParser, OrFilter, ResultCodeError } from 'ldapts';
import { Connection, type Connector, DirectoryError, reasonOf } from './connection.ts';
import { type DirectoryGroup, walkUp } from './groups.ts';
import { byteAttributes, type KnownUser, type Person, type PersonEntry, primaryGroup, readPerson, valuesOf } from './person.ts';
import { type Found, searchAll } from './search.ts';

/** Users or values in one search. */
const batch = 50;
/** Entries for each turn of the event loop. */
const slice = 100;
/** Rule of Active Directory that follows groups in groups (MS-ADTS 3.1.1.3.4.4.3). */
const inChain = '1.2.840.113556.1.4.1941';

/** Result codes of a refused bind: wrong or missing password, locked account, bind not permitted (RFC 4511 appendix A). */
const refusals = new Set([19, 32, 34, 48, 49, 50, 53]);

/** Entries that a login may belong to. */
export interface Candidates {
  /** Entry of the user. */
  own: Person | undefined;
  /** Entry of another user who has the address now. */
  other: Person | undefined;
}

interface Listed<T> {
  entries: readonly T[];
  /** True if the directory referred to other servers for further entries. */
  hasReferences: boolean;
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

  /** Returns all entries of users. @throws DirectoryError Incomplete */
  people(): Promise<Listed<PersonEntry>> {
    return this.#people(this.#filters.people);
  }

  /** Returns all groups with their members. @throws DirectoryError Incomplete */
  async groups(): Promise<Listed<DirectoryGroup>> {
    return this.#groups(undefined, true);
  }

  /** Returns the entries that have the id or an address of one of these users. @throws DirectoryError Incomplete */
  async holders(users: readonly KnownUser[]): Promise<PersonEntry[]> {
    const found: PersonEntry[] = [];
    for (let start = 0; start < users.length; start += batch) {
      const filters = users.slice(start, start + batch).flatMap((user) => this.#isUser(user));
      found.push(...(await this.#people(new AndFilter({ filters: [this.#filters.people, new OrFilter({ filters })] }))).entries);
    }
    return found;
  }

  /**
   * Returns the entry of a user, found by id or, for records without one, by the address, and the entry of another user with the address.
   * Neither is known if several entries could be it.
   *
   * @throws DirectoryError Incomplete
   */
  async find(user: KnownUser): Promise<Candidates> {
    const people = (await this.holders([user])).flatMap(({ person }) => person ?? []);
    // The server may match by looser rules, such as ignoring spaces, and matches further addresses.
    const named = people.filter(({ email }) => email.toLowerCase() === user.email.toLowerCase());
    if (user.ids.length === 0) return { own: only(named), other: undefined };
    const isHeld = ({ id }: Person) => user.ids.includes(id);
    const held = people.filter(isHeld);
    return { own: only(named.filter(isHeld)) ?? only(held), other: only(named.filter((person) => !isHeld(person))) };
  }

  /** Returns the groups of a user, as configured. @throws DirectoryError Incomplete */
  async groupsOf(person: Person): Promise<{ names: string[]; hasReferences: boolean }> {
    const { groups } = this.#connector;
    if (groups === undefined) return { names: [], hasReferences: false };
    let hasReferences = false;
    const search = async (filter: Filter) => {
      const found = await this.#groups(filter, false);
      hasReferences ||= found.hasReferences;
      return found.entries;
    };
    const sid = groups.primary ? person.primaryGroupSID : '';
    const primary = sid === '' ? [] : await search(new EqualityFilter({ attribute: primaryGroup.sid, value: Buffer.from(sid, 'hex') }));
    const rule = groups.nested === 'matchingRule' ? inChain : undefined;
    const parentsOf = async (dns: readonly string[]) => {
      const parents: DirectoryGroup[] = [];
      for (let start = 0; start < dns.length; start += batch) {
        const filters = dns.slice(start, start + batch).map((dn) => hasMember(groups.member, dn, rule));
        parents.push(...(await search(new OrFilter({ filters }))));
      }
      return parents;
    };
    const isChain = rule !== undefined;
    const direct = [...primary, ...(await parentsOf([person.dn, ...(isChain ? primary.map(({ dn }) => dn) : [])]))];
    const all = groups.nested === 'walk' ? await walkUp(direct, (level) => parentsOf(level.map(({ dn }) => dn))) : direct;
    return { names: all.map(({ name }) => name), hasReferences };
  }

  async #people(filter: Filter): Promise<Listed<PersonEntry>> {
    const { baseDN, attributes } = this.#connector;
    const asked = [...Object.values(attributes), primaryGroup.id, primaryGroup.sid];
    const { entries, hasReferences } = await this.#search({ baseDN, filter, attributes: asked, asBytes: byteAttributes(this.#connector) });
    const people: PersonEntry[] = [];
    for (const entry of entries) {
      people.push(readPerson(entry, this.#connector));
      if (people.length % slice === 0) await turn();
    }
    return { entries: people, hasReferences };
  }

  async #groups(condition: Filter | undefined, hasMembers: boolean): Promise<Listed<DirectoryGroup>> {
    const { groups } = this.#connector;
    if (groups === undefined || this.#filters.groups === undefined) return { entries: [], hasReferences: false };
    const filter = condition === undefined ? this.#filters.groups : new AndFilter({ filters: [this.#filters.groups, condition] });
    const attributes = [groups.name, primaryGroup.sid, ...(hasMembers ? [groups.member] : [])];
    const found = await this.#search({ baseDN: groups.baseDN, filter, attributes, asBytes: [primaryGroup.sid] });
    const entries = found.entries.flatMap((entry) => {
      const [name] = valuesOf(entry, groups.name);
      const [sid] = valuesOf(entry, primaryGroup.sid);
      const members = valuesOf(entry, groups.member).filter((member) => typeof member === 'string');
      return typeof name === 'string' ? [{ dn: entry.dn, name, members, sid: Buffer.isBuffer(sid) ? sid.toString('hex') : '' }] : [];
    });
    return { entries, hasReferences: found.hasReferences };
  }

  async #search(query: Parameters<typeof searchAll>[1]): Promise<Found> {
    const found = await searchAll(this.#connection.client, query);
    return this.#connector.referrals === 'ignore' ? { ...found, hasReferences: false } : found;
  }

  /** An id in hexadecimal digits may be bytes or text, so both are searched for. */
  #isUser({ email, ids }: KnownUser): Filter[] {
    const { attributes } = this.#connector;
    const values = ids.flatMap((id) => (/^([0-9a-f]{2})+$/.test(id) ? [id, Buffer.from(id, 'hex')] : [id]));
    return [
      new EqualityFilter({ attribute: attributes.email, value: email }),
      ...values.map((value) => new EqualityFilter({ attribute: attributes.id, value })),
    ];
  }
}

const only = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined);

const hasMember = (attribute: string, dn: string, rule: string | undefined): Filter =>
  rule === undefined ? new EqualityFilter({ attribute, value: dn }) : new ExtensibleFilter({ matchType: attribute, rule, value: dn });

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
    throw new DirectoryError('NotConfigured', `${setting} is not an LDAP filter`, { cause: error });
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
