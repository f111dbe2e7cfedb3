/** PKCS #10 certificate requests (RFC 2986), with the parts that the embedded cluster reads. */

import 'reflect-metadata';
import { createPublicKey, verify } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const begin = '-----BEGIN CERTIFICATE REQUEST-----';
const end = '-----END CERTIFICATE REQUEST-----';

/** @param request base64 of PEM, as in `spec.request`. @throws Error with the reason why it is invalid */
export function parseSigningRequest(request: unknown): x509.Pkcs10CertificateRequest {
  const text = Buffer.from(typeof request === 'string' ? request : '', 'base64').toString('latin1');
  const [, afterBegin] = text.split(begin, 2);
  const [body = '', afterBody] = afterBegin?.split(end, 2) ?? [];
  if (afterBody === undefined || !/^[A-Za-z0-9+/=\s]+$/.test(body)) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const parsed = readRequest(`${begin}${body}${end}`);
  if (!isSignedByItself(parsed)) throw new Error('x509: invalid signature');
  return parsed;
}

function readRequest(pem: string): x509.Pkcs10CertificateRequest {
  try {
    return new x509.Pkcs10CertificateRequest(pem);
  } catch (cause) {
    throw new Error('x509: malformed certificate request', { cause });
  }
}

function isSignedByItself(request: x509.Pkcs10CertificateRequest): boolean {
  const { hash } = request.signatureAlgorithm;
  const digest = hash && 'name' in hash ? hash.name.replace('-', '') : null;
  try {
    const key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' });
    return verify(digest, firstElement(Buffer.from(request.rawData)), key, Buffer.from(request.signature));
  } catch {
    return false;
  }
}

/** Returns the signed part: the first element of the outermost sequence, with its header (X.690 8.1). */
function firstElement(der: Buffer): Buffer {
  const { contentAt } = elementAt(der, 0);
  return der.subarray(contentAt, elementAt(der, contentAt).endsAt);
}

function elementAt(der: Buffer, at: number): { contentAt: number; endsAt: number } {
  const short = der.readUInt8(at + 1);
  const lengthBytes = short < 0x80 ? 0 : short - 0x80;
  const contentAt = at + 2 + lengthBytes;
  return { contentAt, endsAt: contentAt + (lengthBytes === 0 ? short : der.readUIntBE(at + 2, lengthBytes)) };
}

/** Returns the subject as Kubernetes interprets it. */
export const subjectNames = (name: x509.Name): { commonName: string; organizations: string[] } => ({
  commonName: name.getField('CN').at(-1) ?? '',
  organizations: name.getField('O'),
});
