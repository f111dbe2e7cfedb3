import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Agent, request } from 'undici';
import { Listener } from '../../../src/http/listener.ts';
import { loopbackCertificates } from '../../cluster/certificates.ts';

describe('a port with TLS', () => {
  it('stops also while a client has not finished its handshake', async () => {
    const { authority, serving } = await loopbackCertificates();
    const directory = await mkdtemp(join(tmpdir(), 'atrium-listener-'));
    const tls = { certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') };
    await writeFile(tls.certFile, serving.certificate);
    await writeFile(tls.keyFile, serving.key);
    const listener = new Listener((_request, response) => response.end('here'), {
      host: '127.0.0.1',
      port: 0,
      requestTimeoutMs: 60_000,
      tls,
    });
    const port = await listener.start();
    const silent = connect(port, '127.0.0.1').resume();
    const closed = once(silent, 'close');
    await once(silent, 'connect');
    // Accepted after the silent one.
    const dispatcher = new Agent({ connect: { ca: authority.certificate } });
    const { body } = await request(`https://127.0.0.1:${port}/`, { dispatcher });
    expect(await body.text()).to.equal('here');

    await listener.stop(0);
    await closed;
    await dispatcher.close();
    await rm(directory, { recursive: true });
  });
});
