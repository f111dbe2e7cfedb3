import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from './api-server-between.ts';

const base = '/api/kubernetes';
const exec = `${base}/api/v1/namespaces/default/pods/x/exec?command=id&stdout=true`;

describe('connections in another protocol that end', () => {
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
      const ended = once(socket, 'close');
      const upstreamEnded = once(there as Duplex, 'close');
      if (idleTimeout === '1h') await server.stopFirst();
      await ended;
      await upstreamEnded;
      await server.stop();
    }
  });
});
