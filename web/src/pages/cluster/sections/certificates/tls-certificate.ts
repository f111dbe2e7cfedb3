/** X.509 certificates in PEM (RFC 5280, RFC 7468), with the parts that a user checks. Signatures are not checked. */

import { type BaseBlock, GeneralizedTime, UTCTime } from 'asn1js';
import { alternativeNamesIn, bytesOf, childrenOf, nameParts, parse } from './asn1.ts';

export interface TlsCertificate {
  /** `CN=shop.example.com`, in the order of the certificate. */
  subject: readonly string[];
  issuer: readonly string[];
  /** `DNS:shop.example.com`. */
  alternativeNames: readonly string[];
  begins: Date;
  ends: Date;
  /** Certificates in the text, with the first one. */
  chainLength: number;
}

/** A certificate takes about two kilobytes. Reading this much takes less than 20 ms. */
const maxBytes = 16 * 1024;
/** A chain has a few certificates. */
const maxText = 128 * 1024;
const pem = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g;
const begin = /-----BEGIN /g;

/** Reads the first certificate of a chain. @returns undefined for a text with a part that is no certificate */
export function tlsCertificate(text: string): TlsCertificate | undefined {
  if (text.length > maxText) return undefined;
  const bodies = Array.from(text.matchAll(pem), ([, body = '']) => body);
  const [first = ''] = bodies;
  if (first === '' || first.length > maxBytes || bodies.length !== [...text.matchAll(begin)].length) return undefined;
  try {
    return { ...firstOf(first), chainLength: bodies.map(bytesOf).length };
  } catch {
    return undefined;
  }
}

function firstOf(body: string): Omit<TlsCertificate, 'chainLength'> {
  const fields = childrenOf(childrenOf(parse(bytesOf(body)))[0]);
  // The version is missing in certificates of version 1.
  const [, , issuer, validity, subject] = isTagged(fields[0], 0) ? fields.slice(1) : fields;
  const [begins, ends] = childrenOf(validity).map(timeOf);
  if (issuer === undefined || subject === undefined || begins === undefined || ends === undefined) throw new Error('no certificate');
  const extensions = childrenOf(fields.find((field) => isTagged(field, 3)))[0];
  return { subject: nameParts(subject), issuer: nameParts(issuer), alternativeNames: alternativeNamesIn(extensions), begins, ends };
}

const contextSpecific = 3;
const isTagged = (block: BaseBlock | undefined, tag: number): boolean =>
  block?.idBlock.tagClass === contextSpecific && block.idBlock.tagNumber === tag;

const timeOf = (block: BaseBlock): Date | undefined =>
  block instanceof UTCTime || block instanceof GeneralizedTime ? block.toDate() : undefined;
