/** Certificate authority of the embedded cluster and the certificates that it signs. */

import 'reflect-metadata';
import { X509Certificate as NodeCertificate, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 60 * 60 * 1000;
const authorityDays = 3650;
const serverDays = 365;
const backdateMs = 5 * 60 * 1000;

/** PEM texts. */
export interface Authority {
  certificate: string;
  key: string;
}

export async function createAuthority(now: Date, name = 'CN=atrium embedded cluster'): Promise<Authority> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name,
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + authorityDays * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await keyText(keys.privateKey) };
}

/** Creates a certificate for the loopback addresses, the in-cluster names and `host`. */
export async function createServerCertificate(authority: Authority, host: string, now: Date): Promise<Authority> {
  const names = [...new Set(['localhost', 'kubernetes', 'kubernetes.default.svc', '127.0.0.1', '::1', host])].filter(
    (name) => name !== '0.0.0.0',
  );
  return createCertificate(authority, { subject: 'CN=kube-apiserver', names, days: serverDays, now });
}

interface ServerNames {
  subject: string;
  /** Host names and addresses. */
  names: readonly string[];
  days: number;
  now: Date;
}

/** Creates a certificate of a server, with a key of its own. */
export async function createCertificate(authority: Authority, { subject, names, days, now }: ServerNames): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await signed(authority, {
    subject,
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + days * dayMs),
    publicKey: keys.publicKey,
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value }))),
    ],
  });
  return { certificate, key: await keyText(keys.privateKey) };
}

interface ClientCertificate {
  subject: x509.Name;
  publicKey: x509.PublicKey;
  seconds: number;
  now: Date;
}

/** Creates a certificate (PEM). Its validity begins a little earlier, for clocks that are behind. */
export const createClientCertificate = (authority: Authority, { subject, publicKey, seconds, now }: ClientCertificate): Promise<string> =>
  signed(authority, {
    subject,
    notBefore: new Date(now.getTime() - backdateMs),
    notAfter: new Date(now.getTime() + seconds * 1000),
    publicKey,
    extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
  });

type Content = Required<Pick<x509.X509CertificateCreateWithKeyParams, 'subject' | 'notBefore' | 'notAfter' | 'publicKey' | 'extensions'>>;

async function signed(authority: Authority, { extensions, ...content }: Content): Promise<string> {
  x509.cryptoProvider.set(webcrypto);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(authority.key), algorithm, false, ['sign']);
  const certificate = await x509.X509CertificateGenerator.create({
    ...content,
    issuer: new x509.X509Certificate(authority.certificate).subjectName,
    extensions: [new x509.BasicConstraintsExtension(false, undefined, true), ...extensions],
    signingAlgorithm: algorithm,
    signingKey,
  });
  return certificate.toString('pem');
}

async function keyText(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** Reports whether a stored authority is still valid. */
export const isValidAuthority = ({ certificate }: Authority, now: Date) => new Date(new NodeCertificate(certificate).validTo) > now;
