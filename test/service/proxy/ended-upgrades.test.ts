import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { endSoon } from '@atrium/http/upgrade.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from './api-server-between.ts';
import { closed, closeOpened, cookieOf, echo, exec, logIn, openUpgrade, startProxy, things } from './support.ts';

describe('the proxy at the end of a connection in another protocol', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startProxy(between));
  let upstream: Duplex[];

  beforeEach(() => {
    upstream = echo(between);
  });
  afterEach(closeOpened);

  const bearer = async () => ({ Authorization: `Bearer ${await server.token('alice')}` });

  it('cuts one that is silent, and all when the service stops', async () => {
    const between = new ApiServerBetween();
    let there: Duplex | undefined;
    between.upgrade = (_request, socket) => {
      there = socket;
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      socket.resume();
    };
    for (const idleTimeout of ['300ms', '1h']) {
      const server = await startServer({ between: between.start, config: { kubernetes: { proxy: { idleTimeout } } } });
      const headers = { Connection: 'Upgrade', Upgrade: 'websocket', Authorization: `Bearer ${await server.token('alice')}` };
      const call = request(`${server.url}${exec}`, { headers });
      call.end();
      const [, socket] = (await once(call, 'upgrade')) as [unknown, Socket];
      socket.resume();
      if (idleTimeout === '1h') await server.stopFirst();
      await closed(socket);
      await closed(there);
      await server.stop();
    }
  });

  it('ends one side when the other has gone', async () => {
    for (const isOurs of [true, false]) {
      const { socket } = await openUpgrade(server, await bearer());
      const there = upstream.at(-1);
      socket?.resume();
      if (isOurs) socket?.destroy();
      else there?.destroy();
      await closed(isOurs ? there : socket);
    }
  });

  it('sends the last bytes to a peer that reads them seconds later', async () => {
    const sent: string[] = [];
    const slow = new Duplex({
      read: () => undefined,
      write: (chunk, _encoding, done) => {
        setTimeout(() => {
          sent.push(String(chunk));
          done();
        }, 1_500);
      },
    });
    slow.write('exit status');
    endSoon(slow);
    await closed(slow);
    expect(sent).to.deep.equal(['exit status']);
  });

  it('ends the call when the caller goes before there is an answer', async () => {
    let there: Duplex | undefined;
    between.upgrade = (_request, socket) => {
      there = socket;
      socket.resume();
    };
    const call = request(`${server.url}${exec}`, {
      headers: { Connection: 'Upgrade', Upgrade: 'websocket', ...(await bearer()) },
    });
    call.on('error', () => undefined);
    call.end();
    await eventually(() => there, Boolean);
    call.destroy();
    await closed(there);
  });

  it('AUZ-07 ends with the session: its connections, watches and logs', async () => {
    const pageOf = async () => ({ ...cookieOf(await logIn(server)), Origin: server.url });
    const [ended, other] = [await pageOf(), await pageOf()];
    const { socket } = await openUpgrade(server, ended);
    socket?.resume();
    between.handle = (_request, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).write('{}\n');
    const watch = await server.request(`${things}?watch=true`, { headers: ended });
    const rest = watch.text().catch(() => 'cut');
    const { socket: ofAnother } = await openUpgrade(server, other);
    ofAnother?.resume();

    const out = await server.request('/auth/v1/sessions', { method: 'GET', headers: ended });
    expect(out.status).to.equal(200);
    expect((await server.request('/auth/v1/sessions', { method: 'DELETE', headers: ended })).status).to.be.oneOf([200, 204]);
    await closed(socket);
    await closed(upstream[0]);
    expect(await rest).to.match(/^\{\}\n\{"type":"ERROR","object":\{"kind":"Status".*"code":401\}\}\n$/);
    // All sessions of the user have ended with it.
    await closed(ofAnother);
  });
});
