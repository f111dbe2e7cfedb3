import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { expect } from 'chai';
import { requestedCertificate } from '../../../web/src/pages/cluster/sections/certificates/signing-request.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

async function requestOf(name: string, extensions: x509.Extension[] = []): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm, extensions });
  return request.toString('pem');
}

describe('a certificate request in the console', () => {
  it('returns subject and alternative names', async () => {
    const names = new x509.SubjectAlternativeNameExtension([
      { type: 'dns', value: 'shop.example.com' },
      { type: 'ip', value: '10.0.0.1' },
      { type: 'ip', value: 'fd00::1' },
      { type: 'email', value: 'jane@example.com' },
    ]);
    expect(requestedCertificate(base64(await requestOf('CN=jane@example.com, O=shop, O=Käufer', [names])))).to.deep.equal({
      subject: ['CN=jane@example.com', 'O=shop', 'O=Käufer'],
      alternativeNames: ['DNS:shop.example.com', 'IP:10.0.0.1', 'IP:fd00:0:0:0:0:0:0:1', 'email:jane@example.com'],
    });
  });

  it('distinguishes a request without alternative names from an unreadable one', async () => {
    const pem = await requestOf('CN=one');
    expect(requestedCertificate(base64(pem))).to.deep.equal({ subject: ['CN=one'], alternativeNames: [] });
    const begin = '-----BEGIN CERTIFICATE REQUEST-----';
    const broken = [
      '',
      'none',
      pem.replace('CERTIFICATE REQUEST', 'CERTIFICATE'),
      `${begin}\nMIIB\n${begin.replace('BEGIN', 'END')}`,
      'x'.repeat(100_000),
    ];
    for (const text of [...broken.map(base64), '***', undefined, 7])
      expect(requestedCertificate(text), String(text).slice(0, 40)).to.equal(undefined);
  });
});
