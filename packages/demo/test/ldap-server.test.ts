import { once } from 'node:events';
import { connect } from 'node:net';
import { LdapServer } from '@atrium/demo/ldap-server.ts';
import { Client } from 'ldapts';
import { loopbackCertificates } from '../../../test/cluster/certificates.ts';

describe('the directory of the demo', () => {
  it('stops also while a client has not finished its handshake', async () => {
    const { authority, serving } = await loopbackCertificates();
    const directory = await LdapServer.start([], serving);
    const silent = connect(Number(new URL(directory.url).port), '127.0.0.1').resume();
    const closed = once(silent, 'close');
    await once(silent, 'connect');
    // Accepted after the silent one.
    const client = new Client({ url: directory.url, tlsOptions: { ca: authority.certificate } });
    await client.bind('', '');

    await directory.stop();
    await closed;
  });
});
