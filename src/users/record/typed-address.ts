import { domainToASCII, domainToUnicode } from 'node:url';
import { typedText } from '@atrium/objects/typed-text.ts';

/**
 * Returns the e-mail address or login name that a user has typed, with its domain in ASCII, as records have it (RFC 5890). Domains that
 * only look alike, such as in full-width letters, stay as they are, and belong to no record.
 */
export function typedAddress(text: string): string {
  const address = typedText(text);
  const at = address.lastIndexOf('@') + 1;
  const domain = address.slice(at).normalize('NFC').toLowerCase();
  if (at === 0 || !/[^\0-\x7f]/.test(domain)) return address;
  const ascii = domainToASCII(domain);
  return ascii !== '' && domainToUnicode(ascii) === domain ? address.slice(0, at) + ascii : address;
}
