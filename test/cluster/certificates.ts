import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const oneDay = 24 * 60 * 60 * 1000;

export interface KeyPair {
  /** PEM certificate. */
  certificate: string;
  /** PEM private key, PKCS #8. */
  key: string;
}

/** Names of the serving certificate. Tests resolve those of agents to loopback. */
const hosts = ['localhost', 'agent.example.com', 'other.example.com'];

/**
 * Creates the certificate authority of the tests and a serving certificate for loopback, both valid for two days.
 *
 * @param name of the authority. A machine that trusts several must be able to tell them apart.
 */
export async function loopbackCertificates(name = 'control plane for tests'): Promise<{ authority: KeyPair; serving: KeyPair }> {
  // Certificates for a day, the maximum of Atrium, must not end with their authority.
  const validity = { notBefore: new Date(Date.now() - oneDay), notAfter: new Date(Date.now() + 2 * oneDay), signingAlgorithm: algorithm };
  const authorityKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: `CN=${name}`,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const servingKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const serving = await x509.X509CertificateGenerator.create({
    ...validity,
    subject: 'CN=127.0.0.1',
    issuer: authority.subject,
    publicKey: servingKeys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        ...hosts.map((value) => ({ type: 'dns' as const, value })),
      ]),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  });
  return { authority: keyPair(authority, authorityKeys), serving: keyPair(serving, servingKeys) };
}

function keyPair(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): KeyPair {
  return {
    certificate: certificate.toString('pem'),
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
