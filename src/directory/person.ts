import type { Entry } from 'ldapts';
import { recordName } from '../users/record/account.ts';
import { displayName, maxSourceID } from '../users/record/schema.ts';
import type { Connector } from './connection.ts';

/**
 * Normalizes a distinguished name: escapes, case, composed letters, blanks that are insignificant (RFC 4518 2.6.1), order within an RDN.
 * Escaped separators, which are part of a value, stay distinct from separators between parts.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4514
 */
export function dnKey(dn: string): string {
  const plain = dn.replace(/%|(?:\\[0-9a-f]{2})+|\\(.)/gisu, (found, char?: string) =>
    char === undefined && found !== '%' ? literalBytes(found.replaceAll('\\', '')) : literal(char ?? found),
  );
  return plain
    .split(/[,;]/)
    .map((rdn) => rdn.split('+').map(pairKey).sort().join('+'))
    .join(',');
}

/** Escapes signs of the syntax in text that was escaped in the name. */
const literal = (text: string): string => text.replace(/[,;+% ]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);

function literalBytes(hex: string): string {
  try {
    return literal(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(hex, 'hex')));
  } catch {
    return hex.replace(/../g, '%$&');
  }
}

/** Normalizes the type and the value of an attribute. Blanks at the ends of a value count if they are escaped. */
function pairKey(pair: string): string {
  const [, type = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair.toLowerCase().normalize('NFC')) ?? [];
  return `${trimmed(type)}=${trimmed(value).replace(/(?<!^)(?: |%20)+(?!$)/g, ' ')}`;
}

const trimmed = (text: string): string => text.replace(/ +/g, ' ').replace(/^ | $/g, '');

/** Attributes of a user in a directory. */
export interface Person {
  readonly dn: string;
  /** Identifier that does not change when the entry is renamed. */
  readonly id: string;
  /** Address in the spelling of the directory. */
  readonly email: string;
  readonly username: string;
  readonly account: string;
  readonly mobile: string;
  /** Security identifier of the primary group of Active Directory in hexadecimal digits; '' if the entry has none. */
  readonly primaryGroupSID: string;
}

/** User as a record knows it. */
export interface KnownUser {
  readonly email: string;
  /** Ids of entries. Empty in records of earlier versions. */
  readonly ids: readonly string[];
}

/** Entry of a directory, as far as it can be read. */
export interface PersonEntry {
  readonly dn: string;
  /** '' if the entry has none that a record can have. */
  readonly id: string;
  /** All values of the attribute of the address, in lower case. An entry is also found by its further addresses. */
  readonly addresses: readonly string[];
  /** Undefined without an e-mail address or login string that a record can have, or without an id. */
  readonly person: Person | undefined;
}

/** Bounds of the custom resource definition. */
const maxAccount = 253;
const mobilePattern = /^[0-9+() -]{0,32}$/;

/** Attributes of the primary group of Active Directory. */
export const primaryGroup = { id: 'primaryGroupID', sid: 'objectSid' } as const;

/** Attributes with bytes. An id that is also another attribute is text. */
export const byteAttributes = ({ attributes }: Pick<Connector, 'attributes'>): string[] =>
  isTextID(attributes) ? [primaryGroup.sid] : [attributes.id, primaryGroup.sid];

const isTextID = ({ id, ...others }: Connector['attributes']): boolean =>
  Object.values(others).some((name) => name.toLowerCase() === id.toLowerCase());

export function readPerson(entry: Entry, connector: Pick<Connector, 'attributes'>): PersonEntry {
  const { attributes } = connector;
  const addresses = valuesOf(entry, attributes.email).map((value) => text(value).trim());
  const [email = ''] = addresses;
  const given = firstOf(entry, attributes.id);
  const id = idOf(isTextID(attributes) ? text(given) : identifier(given));
  const mobile = text(firstOf(entry, attributes.mobile));
  const person = {
    dn: entry.dn,
    id,
    email,
    username: displayName(text(firstOf(entry, attributes.username))) || displayName(email),
    account: accountOf(text(firstOf(entry, attributes.account))),
    mobile: mobilePattern.test(mobile) ? mobile : '',
    primaryGroupSID: primarySID(entry),
  };
  const isFit = recordName(email) !== undefined && id !== '';
  return { dn: entry.dn, id, addresses: addresses.map((address) => address.toLowerCase()), person: isFit ? person : undefined };
}

/** Returns the identifier of the domain, which begins that of the person, with the number of the group (MS-DTYP 2.4.2.2). */
function primarySID(entry: Entry): string {
  const sid = firstOf(entry, primaryGroup.sid);
  const group = Number(text(firstOf(entry, primaryGroup.id)));
  if (!Buffer.isBuffer(sid) || sid.length < 12 || !Number.isInteger(group) || group <= 0 || group > 0xffff_ffff) return '';
  const number = Buffer.alloc(4);
  number.writeUInt32LE(group);
  return Buffer.concat([sid.subarray(0, -4), number]).toString('hex');
}

/** Returns all values of an attribute. Names of attributes are case-insensitive. */
export function valuesOf(entry: Entry, attribute: string): readonly (string | Buffer)[] {
  const wanted = attribute.toLowerCase();
  const found = Object.entries(entry).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? [];
  return Array.isArray(found) ? found : [found];
}

const firstOf = (entry: Entry, attribute: string) => valuesOf(entry, attribute)[0];

const text = (value: string | Buffer | undefined): string => (typeof value === 'string' ? value : '');

/** Converts a binary identifier, such as Active Directory's `objectGUID`, to hexadecimal digits. */
function identifier(value: string | Buffer | undefined): string {
  if (!Buffer.isBuffer(value)) return value ?? '';
  const read = value.toString('latin1');
  return /^[\x21-\x7e]+$/.test(read) ? read : value.toString('hex');
}

const idOf = (given: string): string => (given.length <= maxSourceID && given.isWellFormed() ? given : '');

const accountOf = (given: string): string => (given.length <= maxAccount ? given.toWellFormed() : '');
