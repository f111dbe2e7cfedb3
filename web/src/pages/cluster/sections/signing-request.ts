/** PKCS #10 certificate requests (RFC 2986) as far as a person judges one: its subject and its other names. The signature is the signer's to check. */

import { BaseBlock, fromBER, ObjectIdentifier, OctetString } from 'asn1js';

export interface RequestedCertificate {
  /** `CN=jane`, in the order of the request. */
  subject: readonly string[];
  /** `DNS:shop.example.com`, `IP:10.0.0.1` (RFC 5280 4.2.1.6). */
  alternativeNames: readonly string[];
}

/** A request takes about a kilobyte. Reading this much takes less than 20 ms. */
const maxBytes = 16 * 1024;
const names: Readonly<Record<string, string>> = {
  ...{ '2.5.4.3': 'CN', '2.5.4.5': 'serialNumber', '2.5.4.6': 'C', '2.5.4.7': 'L', '2.5.4.8': 'ST', '2.5.4.9': 'street' },
  ...{ '2.5.4.10': 'O', '2.5.4.11': 'OU', '2.5.4.17': 'postalCode' },
};
const extensionRequest = '1.2.840.113549.1.9.14';
const subjectAltName = '2.5.29.17';
const pem = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----/;

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** @param request base64 of PEM, as `spec.request` has it. @returns undefined for one that cannot be read */
export function requestedCertificate(request: unknown): RequestedCertificate | undefined {
  if (typeof request !== 'string' || request.length > maxBytes) return undefined;
  try {
    const [, body] = pem.exec(atob(request)) ?? [];
    const info = body === undefined ? undefined : childrenOf(parse(bytesOf(body.replaceAll(/\s/g, ''))))[0];
    const [version, subject, key, attributes] = childrenOf(info);
    if (version === undefined || subject === undefined || key === undefined) return undefined;
    return { subject: subjectOf(subject), alternativeNames: alternativeNamesOf(attributes) };
  } catch {
    return undefined;
  }
}

function parse(bytes: Uint8Array): BaseBlock | undefined {
  const { offset, result } = fromBER(bytes);
  return offset === -1 ? undefined : result;
}

function childrenOf(block: BaseBlock | undefined): BaseBlock[] {
  const value: unknown = block && 'value' in block.valueBlock ? block.valueBlock.value : undefined;
  return Array.isArray(value) ? value.filter((child) => child instanceof BaseBlock) : [];
}

const idOf = (block: BaseBlock | undefined): string => (block instanceof ObjectIdentifier ? block.getValue() : '');

function textOf(block: BaseBlock | undefined): string {
  const value: unknown = block && 'value' in block.valueBlock ? block.valueBlock.value : undefined;
  return typeof value === 'string' ? value : '';
}

const subjectOf = (subject: BaseBlock): string[] =>
  childrenOf(subject)
    .flatMap(childrenOf)
    .map((attribute) => {
      const [type, value] = childrenOf(attribute);
      return `${names[idOf(type)] ?? idOf(type)}=${textOf(value)}`;
    });

function alternativeNamesOf(attributes: BaseBlock | undefined): string[] {
  const requested = childrenOf(attributes).find((attribute) => idOf(childrenOf(attribute)[0]) === extensionRequest);
  const extensions = childrenOf(childrenOf(childrenOf(requested)[1])[0]);
  const found = extensions.find((extension) => idOf(childrenOf(extension)[0]) === subjectAltName);
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
