import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { Listener } from '@atrium/http/listener.ts';
import { expect } from 'chai';
import { Agent, request } from 'undici';
import { loopbackCertificates } from '../../../test/cluster/certificates.ts';

describe('a port with TLS', () => {
  it('S13 answers pipelined requests one after the other, also those that come in several reads', async () => {
    await withTls(echo, async (port, ca) => {
      const socket = connectTls({ port, host: '127.0.0.1', ca });
      const urls = Array.from({ length: 500 }, (_, index) => `/${index}`);
      socket.write(urls.map((url) => `GET ${url} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(500)}\r\n\r\n`).join(''));
      socket.write('GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      const text = Buffer.concat(await socket.toArray()).toString('latin1');

      expect(Array.from(text.matchAll(/<(.*?)>/g), ([, url]) => url)).to.deep.equal([...urls, '/last']);
    });
  });

  it('stops also while a client has not finished its handshake', async () => {
    await withTls(
      (_request, response) => response.end('here'),
      async (port, ca, stop) => {
        const silent = connect(port, '127.0.0.1').resume();
        const closed = once(silent, 'close');
        await once(silent, 'connect');
        // This connection is accepted after the silent one.
        const dispatcher = new Agent({ connect: { ca } });
        const { body } = await request(`https://127.0.0.1:${port}/`, { dispatcher });
        expect(await body.text()).to.equal('here');

        await stop();
        await closed;
        await dispatcher.close();
      },
    );
  });
});

describe('connections that come while the process is busy', () => {
  it('are taken by the kernel, more than the 511 of Node.js', async () => {
    const worker = new Worker(new URL('./busy-listener.ts', import.meta.url));
    worker.unref();
    const [port] = await once(worker, 'message');
    const sockets = Array.from({ length: Math.min(1_000, kernelBound()) }, () => connect(port, '127.0.0.1'));

    await Promise.all(sockets.map((socket) => once(socket, 'connect')));

    for (const socket of sockets) socket.destroy();
    await worker.terminate();
  });
});

describe('pipelined requests of a connection', () => {
  const ask = async (listener: Listener, text: string) => {
    const socket = connect(await listener.start(), '127.0.0.1');
    socket.write(text);
    const parts = await socket.toArray();
    await listener.stop(0);
    return Buffer.concat(parts).toString('latin1');
  };
  const options = { host: '127.0.0.1', port: 0, requestTimeoutMs: 60_000 };
  const upgrade = 'GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n\r\n';

  it('S13 ignore an Upgrade behind a request that is not answered yet', async () => {
    const text = await ask(
      new Listener(echo, { ...options, offersUpgrade: () => true }),
      `GET /first HTTP/1.1\r\nHost: x\r\n\r\n${upgrade}`,
    );

    expect(text).to.match(/^HTTP\/1\.1 200 .*<\/first>HTTP\/1\.1 200 .*<\/upgrade>$/s);
  });

  it('S13 wait with their 100 Continue until it is their turn', async () => {
    const read: RequestListener = (incoming, response) => void incoming.toArray().then(() => echo(incoming, response));
    const listener = new Listener(read, options);
    const socket = connect(await listener.start(), '127.0.0.1');
    const expecting = 'POST /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n';
    socket.write(`GET /first HTTP/1.1\r\nHost: x\r\n\r\n${expecting}`);
    let text = '';
    for await (const chunk of socket) {
      text += chunk;
      if (text.endsWith('HTTP/1.1 100 Continue\r\n\r\n')) socket.write('x');
    }
    await listener.stop(0);

    expect(text).to.match(/^HTTP\/1\.1 200 .*<\/first>HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 .*<\/second>$/s);
  });
});

/** Answers in a later turn. */
const echo: RequestListener = (incoming, response) => {
  setImmediate(() => response.end(`<${incoming.url}>`));
};

async function withTls(
  handle: RequestListener,
  use: (port: number, authority: string, stop: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const { authority, serving } = await loopbackCertificates();
  const directory = await mkdtemp(join(tmpdir(), 'atrium-listener-'));
  const tls = { certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') };
  await writeFile(tls.certFile, serving.certificate);
  await writeFile(tls.keyFile, serving.key);
  const listener = new Listener(handle, { host: '127.0.0.1', port: 0, requestTimeoutMs: 60_000, tls });
  let stopped: Promise<unknown> | undefined;
  const stop = () => {
    stopped ??= listener.stop(0);
    return stopped;
  };
  try {
    await use(await listener.start(), authority.certificate, stop);
  } finally {
    await stop();
    await rm(directory, { recursive: true });
  }
}

/** Returns the bound of the kernel on connections that wait to be accepted. Systems other than Linux have at least 128. */
function kernelBound(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  } catch {
    return 128;
  }
}
