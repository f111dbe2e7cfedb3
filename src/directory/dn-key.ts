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
