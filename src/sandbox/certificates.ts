/** The certificate authority of the embedded cluster and the server certificate that it signs. */

import 'reflect-metadata';
import { X509Certificate as NodeCertificate, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 60 * 60 * 1000;
const authorityDays = 3650;
const serverDays = 365;

/** PEM texts. */
export interface Authority {
  certificate: string;
  key: string;
}

export async function createAuthority(now: Date): Promise<Authority> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=atrium embedded cluster',
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

/** A certificate for the loopback addresses, the in-cluster names and `host`. */
export async function createServerCertificate(authority: Authority, host: string, now: Date): Promise<Authority> {
  x509.cryptoProvider.set(webcrypto);
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(authority.key), algorithm, false, ['sign']);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const names = [...new Set(['localhost', 'kubernetes', 'kubernetes.default.svc', '127.0.0.1', '::1', host])].filter(
    (name) => name !== '0.0.0.0',
  );
  const certificate = await x509.X509CertificateGenerator.create({
    subject: 'CN=kube-apiserver',
    issuer: issuer.subject,
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + serverDays * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value }))),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await keyText(keys.privateKey) };
}

async function keyText(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** Whether a kept authority can still be used. */
export const isValidAuthority = ({ certificate }: Authority, now: Date) => new Date(new NodeCertificate(certificate).validTo) > now;
