import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

type KeyAlgorithm = webcrypto.Algorithm | webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams;

export interface RequestParts {
  /** Each part of the subject, e.g. `{ CN: ['alice'] }`; a value is encoded as UTF8String unless it says otherwise. */
  subject: x509.JsonNameParams;
  algorithm?: KeyAlgorithm;
  extensions?: x509.Extension[];
  attributes?: x509.Attribute[];
}

const usual = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Returns a subject with CN and each O, in the usual encoding. */
export const subjectOf = (commonName: string, ...organizations: string[]): x509.JsonNameParams => [
  { CN: [{ utf8String: commonName }] },
  ...organizations.map((name) => ({ O: [{ utf8String: name }] })),
];

/** Generates a PKCS #10 request as PEM, with its key (PEM, PKCS #8). */
export async function signingRequest({ subject, algorithm = usual, ...rest }: RequestParts): Promise<{ request: string; key: string }> {
  const keys = await keyPair(algorithm);
  const name = new x509.Name(subject);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({ ...rest, name, keys, signingAlgorithm: algorithm });
  return { request: request.toString('pem'), key: await keyText(keys.privateKey) };
}

/** Generates a self-signed certificate, with its key. */
export async function selfSigned(commonName: string): Promise<{ certificate: string; key: string }> {
  const keys = await keyPair(usual);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: new x509.Name(subjectOf(commonName)),
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 600_000),
    signingAlgorithm: usual,
    keys,
    extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
  });
  return { certificate: certificate.toString('pem'), key: await keyText(keys.privateKey) };
}

async function keyPair(algorithm: KeyAlgorithm) {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  if (!('privateKey' in keys)) throw new TypeError('no pair of keys');
  return keys;
}

const keyText = async (key: webcrypto.CryptoKey) => x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

export const base64 = (text: string) => Buffer.from(text).toString('base64');
