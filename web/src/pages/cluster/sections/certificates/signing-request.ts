/**
 * PKCS #10 certificate requests (RFC 2986), with the parts by which a user decides on one: its subject and its other names. The signer
 * checks the signature.
 */

import type { BaseBlock } from 'asn1js';
import { alternativeNamesIn, bytesOf, childrenOf, idOf, nameParts, parse } from './asn1.ts';

export interface RequestedCertificate {
  /** `CN=jane`, in the order of the request. */
  subject: readonly string[];
  /** `DNS:shop.example.com`, `IP:10.0.0.1` (RFC 5280 4.2.1.6). */
  alternativeNames: readonly string[];
}

/** A request takes about a kilobyte. Reading this much takes less than 20 ms. */
const maxBytes = 16 * 1024;
const extensionRequest = '1.2.840.113549.1.9.14';
const pem = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----/;

/** @param request base64 of PEM, as in `spec.request`. @returns undefined for one that cannot be read */
export function requestedCertificate(request: unknown): RequestedCertificate | undefined {
  if (typeof request !== 'string' || request.length > maxBytes) return undefined;
  try {
    const [, body] = pem.exec(atob(request)) ?? [];
    const info = body === undefined ? undefined : childrenOf(parse(bytesOf(body)))[0];
    const [version, subject, key, attributes] = childrenOf(info);
    if (version === undefined || subject === undefined || key === undefined) return undefined;
    return { subject: nameParts(subject), alternativeNames: alternativeNamesOf(attributes) };
  } catch {
    return undefined;
  }
}

function alternativeNamesOf(attributes: BaseBlock | undefined): string[] {
  const requested = childrenOf(attributes).find((attribute) => idOf(childrenOf(attribute)[0]) === extensionRequest);
  return alternativeNamesIn(childrenOf(childrenOf(requested)[1])[0]);
}
