import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { bindsAs, DirectorySession } from '../../../src/directory/session.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aConnector } from './a-connector.ts';
import { aPerson, people, Slapd } from './slapd.ts';

const never = new AbortController().signal;
const jane = `uid=jane,${people}`;

/** Returns an LDAPMessage with an ExtendedResponse or BindResponse and its result code (RFC 4511 4.1.9), without matchedDN and message. */
const response = (id: number, operation: 0x78 | 0x61, code: number) =>
  Buffer.from([0x30, 0x0c, 0x02, 0x01, id, operation, 0x07, 0x0a, 0x01, code, 0x04, 0x00, 0x04, 0x00]);

/** Returns the message ID of a short request. */
const idOf = (request: Buffer) => request[4] ?? 0;

describe('StartTLS', () => {
  const slapd = forSuite(() => Slapd.start([aPerson({ uid: 'jane', cn: 'Jane', mail: 'jane@example.com', userPassword: 'jane-secret' })]));
  let server: Server;
  /** Unencrypted data of each connection. */
  let plain: Buffer[];
  afterEach(() => server.close());

  /** Starts a man in the middle that sees the first request of each connection before the directory does. */
  const between = async (answer: (client: Socket, request: Buffer) => void) => {
    plain = [];
    server = createServer((client) => {
      client.on('error', () => undefined);
      client.once('data', (request) => {
        plain.push(request);
        client.on('data', (chunk) => plain.push(chunk));
        answer(client, request);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return aConnector(slapd.connector({ url: `ldap://127.0.0.1:${port}`, startTLS: true }));
  };
  const failure = async (work: Promise<unknown>): Promise<string> => {
    try {
      return `no failure: ${await work}`;
    } catch (error) {
      return error instanceof Error && 'reason' in error ? String(error.reason) : `${error}`;
    }
  };
  const secretsSeen = () =>
    Buffer.concat(plain)
      .toString('latin1')
      .match(/secret|cn=reader|uid=jane/);

  it('LDP-02 is required: the connection fails if the server refuses it', async () => {
    for (const code of [1, 2, 52, 53]) {
      const connector = await between((client, request) => client.write(response(idOf(request), 0x78, code)));
      expect(await failure(DirectorySession.open(connector, never))).to.equal('Unreachable');
      expect(await failure(bindsAs(connector, jane, 'jane-secret', never))).to.equal('Unreachable');
      expect(plain, 'one request on each connection').to.have.length(2);
      expect(secretsSeen()).to.equal(null);
      server.close();
    }
  });

  it('LDP-02 is required: the connection fails if a man in the middle agrees and continues without TLS', async () => {
    const connector = await between((client, request) => {
      client.write(response(idOf(request), 0x78, 0));
      client.once('data', () => client.write(response(idOf(request) + 1, 0x61, 0)));
    });
    expect(await failure(bindsAs(connector, jane, 'wrong', never))).to.equal('Unreachable');
    expect(secretsSeen()).to.equal(null);
  });

  it('LDP-02 trusts no answer that arrived before the handshake', async () => {
    for (const id of [1, 2, 3, 4]) {
      const connector = await between((client, request) => {
        const upstream = connect(slapd.port, '127.0.0.1');
        upstream.on('error', () => client.destroy());
        upstream.write(request);
        upstream.once('data', (agreed) => {
          // Beginning of a BindResponse with success, which would take the real response as its message.
          const begun = Buffer.from([0x30, 0x1a, 0x02, 0x01, id, 0x61, 0x15, 0x0a, 0x01, 0x00, 0x04, 0x00, 0x04, 0x0e]);
          client.write(Buffer.concat([agreed, begun]));
          client.pipe(upstream).pipe(client);
        });
        client.on('close', () => upstream.destroy());
      });
      expect(await failure(bindsAs(connector, jane, 'wrong', never)), `message ${id}`).to.be.oneOf(['no failure: false', 'Unreachable']);
      server.close();
    }
  });
});
