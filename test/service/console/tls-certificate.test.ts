import { createAuthority, createCertificate } from '@atrium/embedded-cluster/certificates.ts';
import { expect } from 'chai';
import { tlsCertificate } from '../../../web/src/pages/cluster/sections/certificates/tls-certificate.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';

const now = new Date('2026-11-27T08:00:00Z');
const day = 24 * 3_600_000;

describe('a TLS certificate in the console', () => {
  const chain = forSuite(async () => {
    const authority = await createAuthority(now, 'CN=Example CA, O=Käufer');
    const names = ['shop.example.com', '10.0.0.1'];
    const { certificate, key } = await createCertificate(authority, { subject: 'CN=shop', names, days: 12, now });
    return { certificate, key, authority: authority.certificate };
  }, needsNoStop);

  it('returns subject, names, issuer, times and the length of the chain', () => {
    expect(tlsCertificate(`${chain.certificate}\n${chain.authority}\n`)).to.deep.equal({
      ...{ subject: ['CN=shop'], issuer: ['CN=Example CA', 'O=Käufer'], chainLength: 2 },
      alternativeNames: ['DNS:shop.example.com', 'IP:10.0.0.1'],
      ...{ begins: new Date(now.getTime() - day), ends: new Date(now.getTime() + 12 * day) },
    });
  });

  it('reads no text with a part that is not a certificate', () => {
    const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'];
    const cut = chain.certificate.slice(0, chain.certificate.length / 2);
    const texts = [
      ...['', 'none', cut, `${begin}\nMIIB\n${end}`, `${begin}\n****\n${end}`, `${chain.certificate}\n${cut}`],
      ...[chain.key, `${chain.certificate}\n${chain.key}`, `${begin}${'A'.repeat(100_000)}${end}`, begin.repeat(10_000)],
    ];
    for (const text of texts) expect(tlsCertificate(text), text.slice(0, 60)).to.equal(undefined);
  });
});
