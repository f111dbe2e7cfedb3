/** Names and extensions in the ASN.1 of certificates and of their requests (RFC 5280). */

import { BaseBlock, fromBER, ObjectIdentifier, OctetString } from 'asn1js';

const names: Readonly<Record<string, string>> = {
  ...{ '2.5.4.3': 'CN', '2.5.4.5': 'serialNumber', '2.5.4.6': 'C', '2.5.4.7': 'L', '2.5.4.8': 'ST', '2.5.4.9': 'street' },
  ...{ '2.5.4.10': 'O', '2.5.4.11': 'OU', '2.5.4.17': 'postalCode' },
};
const subjectAltName = '2.5.29.17';

export const bytesOf = (base64: string) => Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (character) => character.charCodeAt(0));

export function parse(bytes: Uint8Array): BaseBlock | undefined {
  const { offset, result } = fromBER(bytes);
  return offset === -1 ? undefined : result;
}

export function childrenOf(block: BaseBlock | undefined): BaseBlock[] {
  const value: unknown = block && 'value' in block.valueBlock ? block.valueBlock.value : undefined;
  return Array.isArray(value) ? value.filter((child) => child instanceof BaseBlock) : [];
}

export const idOf = (block: BaseBlock | undefined): string => (block instanceof ObjectIdentifier ? block.getValue() : '');

function textOf(block: BaseBlock | undefined): string {
  const value: unknown = block && 'value' in block.valueBlock ? block.valueBlock.value : undefined;
  return typeof value === 'string' ? value : '';
}

/** Returns the parts of a distinguished name in their order: `CN=jane`. */
export const nameParts = (name: BaseBlock): string[] =>
  childrenOf(name)
    .flatMap(childrenOf)
    .map((attribute) => {
      const [type, value] = childrenOf(attribute);
      return `${names[idOf(type)] ?? idOf(type)}=${textOf(value)}`;
    });

/** Returns the names in the extension subjectAltName: `DNS:shop.example.com`, `IP:10.0.0.1` (RFC 5280 4.2.1.6). */
export function alternativeNamesIn(extensions: BaseBlock | undefined): string[] {
  const found = childrenOf(extensions).find((extension) => idOf(childrenOf(extension)[0]) === subjectAltName);
  const content = childrenOf(found).at(-1);
  if (!(content instanceof OctetString)) return [];
  return childrenOf(parse(content.valueBlock.valueHexView)).map(generalName);
}

function generalName(block: BaseBlock): string {
  const bytes = 'valueHexView' in block.valueBlock ? (block.valueBlock.valueHexView as Uint8Array) : new Uint8Array();
  const text = String.fromCharCode(...bytes);
  const forms: Readonly<Record<number, string>> = { 1: `email:${text}`, 2: `DNS:${text}`, 6: `URI:${text}`, 7: `IP:${addressOf(bytes)}` };
  const { tagNumber } = block.idBlock;
  return forms[tagNumber] ?? `other:${tagNumber}`;
}

function addressOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: bytes.length / 2 }, (_, index) =>
    (((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0)).toString(16),
  );
  return groups.join(':');
}
