/**
 * A directory for LDAP over TLS on loopback, from which the demo synchronizes users. Supports simple binds and searches with one entry for
 * each match (RFC 4511), and refuses other requests. The directory is not for production.
 */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Authority } from '@atrium/embedded-cluster/certificates.ts';
import { type BerReader, type Filter, FilterParser, ProtocolOperation as Operation } from 'ldapts';
import { done, endOfMessage, entryMessage, type LdapRequest, requestOf } from './ldap-messages.ts';
import type { DemoPerson } from './objects.ts';

interface DirectoryEntry {
  dn: string;
  attributes: Readonly<Record<string, readonly string[]>>;
  /** Password for binds as the entry; without one, binds are refused. */
  password?: string;
}

const result = { success: 0, invalidCredentials: 49, unwillingToPerform: 53 } as const;
const simplePassword = 0x80;
const noticeOfDisconnection = 0x78;

/** Bound of a request: names and filters of the demo are short. */
const maxBytes = 64 * 1024;

export class LdapServer {
  readonly #entries: readonly DirectoryEntry[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(entries: readonly DirectoryEntry[], { certificate, key }: Authority) {
    this.#entries = entries;
    this.#server = createServer({ cert: certificate, key }, (socket) => this.#serve(socket));
    // Includes sockets during their handshake.
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** @param certificate for 127.0.0.1, and its key */
  static async start(entries: readonly DirectoryEntry[], certificate: Authority): Promise<LdapServer> {
    const server = new LdapServer(entries, certificate);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `ldaps://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    let received = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length > maxBytes) return void socket.destroy();
      try {
        for (let end = endOfMessage(received); end !== undefined; end = endOfMessage(received)) {
          const message = received.subarray(0, end);
          received = received.subarray(end);
          this.#answer(socket, requestOf(message));
        }
      } catch {
        socket.destroy();
      }
    });
  }

  #answer(socket: Socket, { id, operation, reader }: LdapRequest): void {
    if (operation === Operation.LDAP_REQ_BIND) socket.write(done(id, Operation.LDAP_RES_BIND, this.#bind(reader)));
    else if (operation === Operation.LDAP_REQ_SEARCH) {
      for (const entry of this.#search(reader)) socket.write(entryMessage(id, entry));
      socket.write(done(id, Operation.LDAP_RES_SEARCH, result.success));
    } else if (operation === Operation.LDAP_REQ_UNBIND) socket.end();
    else socket.end(done(0, noticeOfDisconnection, result.unwillingToPerform));
  }

  #bind(reader: BerReader): number {
    reader.readInt();
    const dn = reader.readString() ?? '';
    const password = reader.peek() === simplePassword ? (reader.readString(simplePassword) ?? '') : undefined;
    if (dn === '' && password === '') return result.success;
    const entry = this.#entries.find((one) => one.dn.toLowerCase() === dn.toLowerCase());
    return entry?.password !== undefined && entry.password === password ? result.success : result.invalidCredentials;
  }

  #search(reader: BerReader): DirectoryEntry[] {
    const base = (reader.readString() ?? '').toLowerCase();
    reader.readEnumeration();
    reader.readEnumeration();
    reader.readInt();
    reader.readInt();
    reader.readBoolean();
    const filter = FilterParser.parse(reader);
    return this.#entries.filter(({ dn, attributes }) => `,${dn.toLowerCase()}`.endsWith(`,${base}`) && matches(filter, attributes));
  }
}

/** Reports whether a choice of values matches, because the library's filters look at a single value of each attribute. */
function matches(filter: Filter, attributes: DirectoryEntry['attributes']): boolean {
  const choices = Object.entries(attributes).reduce<Record<string, string>[]>(
    (made, [name, values]) => made.flatMap((choice) => values.map((value) => ({ ...choice, [name]: value }))),
    [{}],
  );
  return choices.some((choice) => filter.matches(choice));
}

const suffix = 'dc=example,dc=com';
const people = `ou=people,${suffix}`;
const groups = `ou=groups,${suffix}`;

/** Users of the directory who are missing in the cluster until the first synchronization. */
const newcomers = [
  { email: 'chloe@example.com', displayName: 'Chloé Petit', groups: ['dev'] },
  { email: 'kofi@example.com', displayName: 'Kofi Mensah', groups: ['oncall'] },
] as const;

/** Entry of the demo's directory in `users.ldap`. */
export const demoConnector = (url: string, caFile: string) => ({
  id: 'corp-ldap',
  name: 'Corporate directory',
  url,
  caFile,
  baseDN: people,
  groups: { baseDN: groups },
});

/**
 * Returns the users of the directory with their groups: users in the cluster that came from it and were not removed, and new ones.
 *
 * @param password password of every user
 */
export function demoDirectory(known: readonly DemoPerson[], password: string): DirectoryEntry[] {
  const here = [...known.filter(({ connector, isGone }) => connector === 'ldap' && !isGone), ...newcomers];
  const dnOf = ({ email }: { email: string }) => `uid=${account(email)},${people}`;
  const names = [...new Set(here.flatMap((person) => person.groups))];
  return [
    ...here.map((person) => ({ dn: dnOf(person), attributes: attributesOf(person), password })),
    ...names.map((cn) => ({
      dn: `cn=${cn},${groups}`,
      attributes: {
        objectClass: ['groupOfNames'],
        cn: [cn],
        member: here.filter((person) => person.groups.some((name) => name === cn)).map(dnOf),
      },
    })),
  ];
}

const account = (email: string) => email.slice(0, email.indexOf('@'));

const attributesOf = ({ email, displayName }: { email: string; displayName: string }) => ({
  objectClass: ['person'],
  uid: [account(email)],
  cn: [displayName],
  mail: [email],
  // The same at each start of the demo.
  entryUUID: [hash('sha256', email).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')],
});
