import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { done, endOfMessage, entryMessage, message, requestOf } from '@atrium/demo/ldap-messages.ts';
import {
  AndFilter,
  type BerReader,
  BerWriter,
  ControlParser,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  FilterParser,
  ProtocolOperation as Operation,
  OrFilter,
  PagedResultsControl,
  PresenceFilter,
  BerReader as Reader,
} from 'ldapts';

export interface ScriptedEntry {
  dn: string;
  attributes: Readonly<Record<string, readonly (string | Buffer)[]>>;
  /** Password of a bind. */
  password?: string;
}

/** Behaviour that OpenLDAP does not have, and that tests change while the server runs. */
export interface DirectoryScript {
  entries: ScriptedEntry[];
  /** Values of an attribute in one answer, as in Active Directory. Further values come by `;range=`. */
  maxValues?: number;
  /** Fault of an answer to a request for a further range. */
  rangeFault?: 'error' | 'gone' | 'same';
  /** Entries in one page. */
  pageSize?: number;
  pageFault?: 'emptyPages' | 'lostCookie' | 'sameCookie' | 'error' | 'truncated';
  /** Result code of the last page of every list: above 0, the directory has stopped before its end. */
  endCode?: number;
  /** Base DNs whose searches answer with a reference to another server. */
  referring?: readonly string[];
  /** Result code of searches below a base DN. */
  code?: { baseDN: string; value: number };
  /** Returns the promise that an answer waits for. */
  hold?: () => Promise<unknown>;
}

const success = 0;
const operationsError = 1;
const busy = 51;
const invalidCredentials = 49;
const inChain = '1.2.840.113556.1.4.1941';

interface Search {
  baseDN: string;
  isBase: boolean;
  filter: Filter;
  attributes: string[];
  cookie: string;
}

/** LDAP server on loopback that answers by a script. */
export class ScriptedDirectory {
  readonly script: DirectoryScript;
  /** Filters of the searches, in order. */
  readonly searches: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(script: DirectoryScript) {
    this.script = script;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(script: DirectoryScript): Promise<ScriptedDirectory> {
    const directory = new ScriptedDirectory(script);
    directory.#server.listen(0, '127.0.0.1');
    await once(directory.#server, 'listening');
    return directory;
  }

  get url(): string {
    return `ldap://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    let received = Buffer.alloc(0);
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (let end = endOfMessage(received); end !== undefined; end = endOfMessage(received)) {
        const bytes = received.subarray(0, end);
        received = received.subarray(end);
        if (this.script.hold === undefined) this.#answer(socket, bytes);
        else void this.script.hold().then(() => this.#answer(socket, bytes));
      }
    });
  }

  #answer(socket: Socket, bytes: Buffer): void {
    const { id, operation, reader } = requestOf(bytes);
    if (operation === Operation.LDAP_REQ_BIND) socket.write(done(id, Operation.LDAP_RES_BIND, this.#bind(reader)));
    else if (operation === Operation.LDAP_REQ_SEARCH) socket.write(Buffer.concat(this.#search(id, searchOf(reader, bytes))));
    else socket.end();
  }

  #bind(reader: BerReader): number {
    reader.readInt();
    const dn = reader.readString() ?? '';
    const password = reader.readString(0x80) ?? '';
    if (dn === '' && password === '') return success;
    const entry = this.script.entries.find((one) => one.dn.toLowerCase() === dn.toLowerCase());
    return entry?.password !== undefined && entry.password === password ? success : invalidCredentials;
  }

  #search(id: number, search: Search): Buffer[] {
    const { pageSize = Number.POSITIVE_INFINITY, pageFault, referring = [], code } = this.script;
    this.searches.push(search.filter.toString());
    if (search.isBase) return this.#further(id, search);
    if (code?.baseDN === search.baseDN) return [done(id, Operation.LDAP_RES_SEARCH, code.value)];
    const found = this.script.entries.filter(
      ({ dn }) => dn.toLowerCase().endsWith(search.baseDN.toLowerCase()) && this.#matches(search.filter, dn),
    );
    const page = search.cookie === '' ? 0 : Number(search.cookie.split(':')[1]);
    const references = referring.includes(search.baseDN) && page === 0 ? [referenceTo(id)] : [];
    const isLast = (page + 1) * pageSize >= found.length;
    if (pageFault === 'error' && page > 0) return [done(id, Operation.LDAP_RES_SEARCH, busy)];
    const isEmpty = pageFault === 'emptyPages' && search.cookie.startsWith('full') === false && !(page === 0 && search.cookie === '');
    if (isEmpty) return [result(id, `full:${page}`)];
    const start = (pageFault === 'sameCookie' ? 0 : page) * (Number.isFinite(pageSize) ? pageSize : 0);
    const entries = found.slice(start, start + pageSize).map((entry) => entryMessage(id, this.#shown(entry, search.attributes)));
    const next =
      isLast || pageFault === 'truncated'
        ? ''
        : `${pageFault === 'emptyPages' ? 'empty' : 'page'}:${pageFault === 'sameCookie' ? 1 : page + 1}`;
    if (pageFault === 'lostCookie' && page > 0) return [...entries, done(id, Operation.LDAP_RES_SEARCH, success)];
    return [...entries, ...references, this.#endOfPage(id, next)];
  }

  #endOfPage(id: number, next: string): Buffer {
    const { endCode = success } = this.script;
    return next === '' && endCode !== success ? done(id, Operation.LDAP_RES_SEARCH, endCode) : result(id, next);
  }

  /** Answers a request for further values. */
  #further(id: number, { baseDN, attributes }: Search): Buffer[] {
    const { rangeFault, maxValues = Number.POSITIVE_INFINITY } = this.script;
    const entry = this.script.entries.find(({ dn }) => dn === baseDN);
    const [, name = '', from = '0'] = /^(.+);range=(\d+)-\*$/.exec(attributes[0] ?? '') ?? [];
    if (entry === undefined || rangeFault === 'error') return [done(id, Operation.LDAP_RES_SEARCH, operationsError)];
    if (rangeFault === 'gone') return [done(id, Operation.LDAP_RES_SEARCH, success)];
    const range = rangeOf(name, entry.attributes[name] ?? [], rangeFault === 'same' ? 0 : Number(from), maxValues);
    return [entryMessage(id, { dn: entry.dn, attributes: range }), done(id, Operation.LDAP_RES_SEARCH, success)];
  }

  #shown({ dn, attributes }: ScriptedEntry, asked: readonly string[]): ScriptedEntry {
    const { maxValues = Number.POSITIVE_INFINITY } = this.script;
    const shown = Object.entries(attributes).filter(([name]) => asked.some((one) => one.toLowerCase() === name.toLowerCase()));
    return {
      dn,
      attributes: Object.assign(
        {},
        ...shown.map(([name, values]) => (values.length > maxValues ? rangeOf(name, values, 0, maxValues) : { [name]: values })),
      ),
    };
  }

  #matches(filter: Filter, dn: string): boolean {
    const { attributes = {} } = this.script.entries.find((entry) => entry.dn === dn) ?? {};
    const values = (name: string) => Object.entries(attributes).find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1] ?? [];
    if (filter instanceof AndFilter) return filter.filters.every((one) => this.#matches(one, dn));
    if (filter instanceof OrFilter) return filter.filters.some((one) => this.#matches(one, dn));
    if (filter instanceof PresenceFilter) return values(filter.attribute).length > 0;
    if (filter instanceof EqualityFilter) return values(filter.attribute).some((value) => isSame(value, filter.value));
    if (!(filter instanceof ExtensibleFilter) || filter.rule !== inChain) return false;
    return this.#chain(dn, filter.matchType).has(filter.value.toLowerCase());
  }

  /** Returns all direct and indirect members. */
  #chain(dn: string, attribute: string, found = new Set<string>()): Set<string> {
    const entry = this.script.entries.find((one) => one.dn.toLowerCase() === dn.toLowerCase());
    for (const member of entry?.attributes[attribute] ?? []) {
      const key = String(member).toLowerCase();
      if (found.has(key)) continue;
      found.add(key);
      this.#chain(key, attribute, found);
    }
    return found;
  }
}

const isSame = (value: string | Buffer, wanted: string | Buffer): boolean =>
  value.toString().toLowerCase() === wanted.toString().toLowerCase();

function rangeOf(name: string, values: readonly (string | Buffer)[], from: number, max: number) {
  const part = values.slice(from, from + max);
  const isLast = from + part.length >= values.length;
  return { [`${name};range=${from}-${isLast ? '*' : from + part.length - 1}`]: part };
}

function searchOf(reader: BerReader, bytes: Buffer): Search {
  const end = reader.offset + reader.length;
  const baseDN = reader.readString() ?? '';
  const isBase = reader.readEnumeration() === 0;
  reader.readEnumeration();
  reader.readInt();
  reader.readInt();
  reader.readBoolean();
  const filter = FilterParser.parse(reader);
  const attributes: string[] = [];
  reader.readSequence();
  while (reader.offset < end) attributes.push(reader.readString() ?? '');
  return { baseDN, isBase, filter, attributes, cookie: cookieOf(bytes.subarray(end)) };
}

function cookieOf(controls: Buffer): string {
  if (controls.length === 0) return '';
  const reader = new Reader(controls);
  reader.readSequence(0xa0);
  const control = ControlParser.parse(reader, []);
  return control instanceof PagedResultsControl ? String(control.value?.cookie ?? '') : '';
}

/** Returns the end of a search with the cookie of the next page; '' ends the pages. */
function result(id: number, cookie: string): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(id);
  writer.startSequence(Operation.LDAP_RES_SEARCH);
  writer.writeEnumeration(success);
  writer.writeString('');
  writer.writeString('');
  writer.endSequence();
  writer.startSequence(0xa0);
  new PagedResultsControl({ value: { size: 0, cookie: Buffer.from(cookie) } }).write(writer);
  writer.endSequence();
  writer.endSequence();
  return writer.buffer;
}

const referenceTo = (id: number): Buffer =>
  message(id, Operation.LDAP_RES_SEARCH_REF, (writer) => writer.writeString('ldap://elsewhere.example.com/dc=sub,dc=example,dc=com'));
