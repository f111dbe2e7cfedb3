import type { Duplex } from 'node:stream';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { ApiServerBetween } from './api-server-between.ts';
import { closed, closeOpened, openUpgrade } from './support.ts';

const ping = Buffer.from('\x89\x06atrium', 'latin1');
const empty = Buffer.alloc(0);
/** Returns a frame of a client, with a masked payload. */
function masked(opcode: number, payload: string): Buffer {
  const mask = Buffer.from([7, 1, 200, 33]);
  const bytes = Buffer.from(payload).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | bytes.length]), mask, bytes]);
}
const pong = masked(10, 'atrium');

describe('the proxy of WebSockets', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startServer({ between: between.start, config: { kubernetes: { proxy: { pingInterval: '100ms' } } } }));
  let there: Duplex;
  let received: Buffer;

  beforeEach(() => {
    received = empty;
    between.upgrade = ({ headers }, socket) => {
      there = socket;
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${headers.upgrade}\r\nConnection: Upgrade\r\n\r\n`);
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, chunk]);
      });
    };
  });
  afterEach(closeOpened);

  async function open(way = {}, of: TestServer = server, url = of.url) {
    const { socket } = await openUpgrade({ url }, { Authorization: `Bearer ${await of.token('alice')}` }, way);
    if (socket === undefined) throw new Error('the service opened no connection');
    const seen = { bytes: empty };
    socket.on('data', (chunk) => {
      seen.bytes = Buffer.concat([seen.bytes, chunk]);
    });
    const pings = () => seen.bytes.toString('latin1').split(ping.toString('latin1')).length - 1;
    return { socket, seen, pings };
  }
  const untilPings = ({ pings }: Awaited<ReturnType<typeof open>>, count: number) => eventually(pings, (now) => now >= count);

  it('keeps an idle terminal open behind a proxy that cuts silent connections', async () => {
    const relay = new TcpProxy(server.url, 2_500);
    await relay.start();
    // A browser answers each ping, and the service does not count a pong as activity of the terminal.
    const idle = await open({}, server, relay.url);
    // A busy machine sends pings late, but not by 2.4 s.
    await untilPings(idle, 30);
    expect([idle.seen.bytes.length % ping.length, idle.socket.destroyed]).to.deep.equal([0, false]);
    idle.socket.write(masked(1, 'hi'));
    await eventually(
      () => received,
      (all) => all.equals(masked(1, 'hi')),
    );
    await relay.cut();
  });

  it('cuts a terminal that answers pings alone, after the idle timeout', async () => {
    const ofImpatient = new ApiServerBetween();
    ofImpatient.upgrade = between.upgrade;
    const proxy = { pingInterval: '100ms', idleTimeout: '3s' };
    const impatient = await startServer({ between: ofImpatient.start, config: { kubernetes: { proxy } } });
    const idle = await open({}, impatient);
    idle.socket.on('data', () => idle.socket.write(pong));
    await closed(idle.socket);
    await closed(there);
    expect(idle.pings()).to.be.at.least(5);
    expect(received.length).to.equal(0);
    await impatient.stop();
  });

  it('pings between frames of every length, never inside', async () => {
    const lengths = [
      [0x82, 3],
      [0x02, 126, 1, 0],
      [0x00, 127, 0, 0, 0, 0, 0, 1, 0, 0],
      [0x80, 0],
      [0x89, 2],
    ];
    const sizes = [3, 256, 65_536, 0, 2];
    const clock = await open();
    const client = await open();
    let sent = empty;
    for (const [index, header] of lengths.entries()) {
      const frame = Buffer.concat([Buffer.from(header), Buffer.alloc(sizes[index] ?? 0, 'x')]);
      // The frame arrives in two parts: half a header, then half a payload.
      const half = Math.ceil(frame.length / 2);
      for (const [part, piece] of [frame.subarray(0, 1), frame.subarray(1, half), frame.subarray(half)].entries()) {
        const before = client.pings();
        there.write(piece);
        sent = Buffer.concat([sent, piece]);
        if (part === 2) await untilPings(client, before + 1);
        else await untilPings(clock, clock.pings() + 2);
      }
    }
    expect(Buffer.from(client.seen.bytes.toString('latin1').replaceAll(ping.toString('latin1'), ''), 'latin1').equals(sent)).to.equal(true);
  });

  it('removes the pongs that answer its pings, also in pieces, and no other frame', async () => {
    const client = await open();
    const kept = [masked(10, 'custom'), masked(10, ''), masked(2, 'atrium'), masked(9, 'atrium'), masked(8, '')];
    const all = Buffer.concat([pong, ...kept.slice(0, 3), pong, pong, ...kept.slice(3)]);
    for (const byte of all) client.socket.write(Buffer.from([byte]));
    await eventually(
      () => received,
      (bytes) => bytes.equals(Buffer.concat(kept)),
    );
  });

  it('sends nothing behind a Close frame, and nothing on SPDY', async () => {
    const closing = await open();
    const close = Buffer.from([0x88, 2, 3, 232]);
    there.write(close);
    const marker = await open();
    await untilPings(marker, 3);
    expect(closing.seen.bytes.subarray(-close.length).equals(close)).to.equal(true);
    const overSpdy = await open({ method: 'POST', protocol: 'SPDY/3.1' });
    await untilPings(await open(), 3);
    expect(overSpdy.seen.bytes.length).to.equal(0);
  });
});
