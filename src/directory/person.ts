import type { Entry } from 'ldapts';
import { recordName } from '../users/record/account.ts';
import { displayName } from '../users/record/schema.ts';
import type { Connector } from './connection.ts';

/**
 * Normalizes a distinguished name: escapes, case, spaces around separators, order within an RDN. Escaped separators, which are part of a
 * value, stay distinct from separators between parts.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4514
 */
export function dnKey(dn: string): string {
  const plain = dn.toLowerCase().replace(/%|\\([0-9a-f]{2})|\\(.)|[^\x20-\x7e]/gsu, (found, hex?: string, char?: string) => {
    if (hex === undefined) return encode(char ?? found);
    const code = Number.parseInt(hex, 16);
    return code < 0x80 ? encode(String.fromCharCode(code).toLowerCase()) : `%${hex}`;
  });
  return plain
    .split(/[,;]/)
    .map((rdn) => rdn.split('+').map(trimmedPair).sort().join('+'))
    .join(',');
}

/** Trims the type and the value of an attribute. */
const trimmedPair = (pair: string): string =>
  pair
    .split('=')
    .map((part) => part.trim())
    .join('=');

const encode = (char: string): string =>
  /^[a-z0-9]$/.test(char) ? char : [...new TextEncoder().encode(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

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
}

/** Bounds of the custom resource definition. */
const maxAccount = 253;
const mobilePattern = /^[0-9+() -]{0,32}$/;

/** @returns undefined for an entry without an e-mail address or login string that a record can have, or without an id */
export function personOf(entry: Entry, { attributes }: Connector): Person | undefined {
  const email = text(firstOf(entry, attributes.email)).trim();
  const id = identifier(firstOf(entry, attributes.id));
  if (recordName(email) === undefined || id === '') return undefined;
  const mobile = text(firstOf(entry, attributes.mobile));
  return {
    dn: entry.dn,
    id,
    email,
    username: displayName(text(firstOf(entry, attributes.username))) || displayName(email),
    account: accountOf(text(firstOf(entry, attributes.account))),
    mobile: mobilePattern.test(mobile) ? mobile : '',
  };
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

const accountOf = (given: string): string => (given.length <= maxAccount ? given.toWellFormed() : '');
