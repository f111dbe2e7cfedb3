import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tlsTrust } from '@atrium/http/outgoing.ts';
import { expect } from 'chai';
import { loopbackCertificates } from '../../../test/cluster/certificates.ts';
import { forSuite } from '../../../test/support/for-suite.ts';

describe('certificate authorities of a file', () => {
  const folder = forSuite(
    async () => ({ path: await mkdtemp(join(tmpdir(), 'atrium-trust-')) }),
    ({ path }) => rm(path, { recursive: true }),
  );

  it('are parsed once for all connections, also where another file holds them, until they change', async () => {
    const [one, other] = await Promise.all([loopbackCertificates(), loopbackCertificates()]);
    const [ofIssuer, ofOther] = [join(folder.path, 'issuer.pem'), join(folder.path, 'other.pem')];
    for (const file of [ofIssuer, ofOther]) await writeFile(file, one.authority.certificate);
    const first = await tlsTrust(ofIssuer);

    expect(first.secureContext).to.be.an('object');
    expect((await tlsTrust(ofIssuer)).secureContext).to.equal(first.secureContext);
    expect((await tlsTrust(ofOther)).secureContext).to.equal(first.secureContext);
    expect((await tlsTrust(ofIssuer, 'TLSv1.3')).secureContext).not.to.equal(first.secureContext);
    await writeFile(ofIssuer, other.authority.certificate);
    expect((await tlsTrust(ofIssuer)).secureContext).not.to.equal(first.secureContext);
  });

  it('are those of the system without a file, and none where it cannot be read', async () => {
    expect(await tlsTrust(undefined)).to.deep.equal({});
    const failure = await tlsTrust(join(folder.path, 'missing.pem')).catch((error: NodeJS.ErrnoException) => error);
    expect(failure).to.have.property('code', 'ENOENT');
  });
});
