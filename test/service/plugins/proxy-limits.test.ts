import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { collectedMemory } from '../../support/collected-memory.ts';
import { forSuite } from '../../support/for-suite.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { PluginService, ServiceAuthority } from './plugin-service.ts';
import { startPluginSuite } from './support.ts';

const mebibyte = 2 ** 20;

describe('the proxy of plugins, put to the test', () => {
  const suite = forSuite(() => startPluginSuite());
  let token: string;

  before(async () => {
    token = await suite.server.token('alice');
    const service = suite.reference({ basePath: '/api' });
    await suite.plugin('shop', {
      proxy: [{ alias: 'plain', service }],
    });
  });
  afterEach(() => {
    suite.service.handle = undefined;
    suite.service.received.length = 0;
  });

  const send = (path: string, options = {}) => suite.server.request(`/api/proxy/plugin/shop/${path}`, { token, ...options });
  /** Sends a request without an HTTP library. */
  const raw = (head: string, ...parts: (string | Buffer)[]) =>
    sendRaw(suite.server.port, `${head}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`, ...parts);

  it('streams in both directions: the first part is there before the last is sent', async () => {
    const arrived: string[] = [];
    suite.service.handle = (incoming, response) => {
      incoming.setEncoding('utf8').on('data', (chunk: string) => {
        arrived.push(chunk);
        response.write(`got ${chunk};`);
      });
      incoming.on('end', () => response.end('end'));
    };
    let push: (text: string) => void = () => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        push = (text) => (text === '' ? controller.close() : controller.enqueue(Buffer.from(text)));
      },
    });
    push('one');
    const response = await fetch(`${suite.server.url}/api/proxy/plugin/shop/plain/x`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
      body,
      duplex: 'half',
    } as RequestInit);
    const reader = (response.body ?? expect.fail('no body')).pipeThrough(new TextDecoderStream()).getReader();

    expect((await reader.read()).value).to.equal('got one;');
    push('two');
    expect((await reader.read()).value).to.equal('got two;');
    push('');
    expect((await reader.read()).value).to.equal('end');
    expect(arrived).to.deep.equal(['one', 'two']);
  });

  it('LIM-01 takes 10 MiB and no more, announced or not, and sends on no more either', async () => {
    let bytes = 0;
    suite.service.handle = (incoming, response) => {
      bytes = 0;
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      incoming.on('end', () => response.end(String(bytes)));
    };
    const whole = await send('plain/x', { method: 'POST', body: 'x'.repeat(10 * mebibyte) });
    expect(await whole.text()).to.equal(String(10 * mebibyte));
    bytes = 0;
    const announced = await raw('POST /api/proxy/plugin/shop/plain/x HTTP/1.1', `Content-Length: ${11 * mebibyte}\r\n\r\n`);
    expect(announced.status).to.equal(413);
    expect(bytes).to.equal(0);
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(mebibyte), Buffer.from('\r\n')]);
    const chunked = await raw(
      'POST /api/proxy/plugin/shop/plain/x HTTP/1.1',
      'Transfer-Encoding: chunked\r\n\r\n',
      ...Array.from({ length: 11 }, () => chunk),
    );
    expect(chunked.status).to.equal(413);
    expect(JSON.parse(chunked.body)).to.deep.include({ reason: 'RequestEntityTooLarge' });
    expect(bytes).to.be.at.most(10 * mebibyte);
    // Other paths keep their limit.
    const elsewhere = await suite.server.request('/auth/v1/selfsubjectaccessreviews', {
      token,
      method: 'POST',
      body: `"${'x'.repeat(2 * mebibyte)}"`,
    });
    expect(elsewhere.status).to.equal(413);
  });

  it('LIM-01 cuts an answer of more than 10 MiB', async () => {
    suite.service.handle = (_request, response) => response.writeHead(200, { 'Content-Length': String(11 * mebibyte) }).write('x');
    expect((await send('plain/x')).status).to.equal(503);
    suite.service.handle = (_request, response) => response.writeHead(200).end(Buffer.alloc(11 * mebibyte));
    const cut = await send('plain/x')
      .then((response) => response.arrayBuffer())
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(cut).to.be.instanceOf(Error);
  });

  it('LIM-04 keeps nothing for callers who read slowly', async () => {
    const size = 9 * mebibyte;
    let under = 0;
    let begun = 0;
    suite.service.handle = async (_request, response) => {
      begun += 1;
      under += 1;
      response.setMaxListeners(0).writeHead(200);
      for (let written = 0; written < size && !response.destroyed; written += 65_536)
        if (!response.write(Buffer.alloc(65_536))) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      response.end();
      under -= 1;
    };
    // The Service allocates all of it again in this process.
    const held = () => collectedMemory().arrayBuffers / mebibyte;
    const before = held();
    // A caller has a part of the places of a plugin.
    const tokens = [token, await suite.server.token('bob')];
    const sockets = Array.from({ length: 20 }, (_, index) => {
      const socket = connect(suite.server.port, '127.0.0.1').pause();
      socket.write(`GET /api/proxy/plugin/shop/plain/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tokens[index % 2]}\r\n\r\n`);
      return socket;
    });
    await eventually(
      () => begun,
      (count) => count === sockets.length,
    );
    // The kernel buffers some of it; the service must not hold the rest of what was sent and not read.
    const peaks: number[] = [];
    for (let look = 0; look < 10; look += 1) {
      await sleep(50);
      peaks.push(held() - before);
    }
    for (const socket of sockets) socket.destroy();
    expect(Math.max(...peaks)).to.be.below(60);
    await eventually(
      () => under,
      (count) => count === 0,
    );
  });

  it('ends the request at the Service when its caller leaves', async () => {
    let closed = 0;
    let begun = 0;
    suite.service.handle = (incoming) => {
      begun += 1;
      incoming.socket.once('close', () => {
        closed += 1;
      });
    };
    const leaving = new AbortController();
    const gone = send('plain/x', { signal: leaving.signal }).catch(() => 'gone');
    await eventually(
      () => begun,
      (count) => count === 1,
    );
    leaving.abort();
    expect(await gone).to.equal('gone');
    await eventually(
      () => closed,
      (count) => count === 1,
    );
  });

  it('tries a read once more when the Service has just closed the connection, and a write never', async () => {
    let requests = 0;
    suite.service.handle = (incoming, response) => {
      requests += 1;
      if (requests === 1) incoming.socket.destroy();
      else response.end('again');
    };
    expect(await (await send('plain/x')).text()).to.equal('again');
    requests = 0;
    expect((await send('plain/x', { method: 'POST', body: '{}' })).status).to.equal(503);
    expect(requests).to.equal(1);
  });

  it('answers clients that still send a body that the Service does not read, and ends the connection', async () => {
    suite.service.handle = (_request, response) => response.writeHead(409).end('enough');
    const answer = await raw('POST /api/proxy/plugin/shop/plain/x HTTP/1.1', `Content-Length: ${mebibyte}\r\n\r\n`, Buffer.alloc(1000));
    expect(answer.status).to.equal(409);
    expect(answer.headers.connection).to.equal('close');
    expect(answer.body).to.include('enough');
  });

  it('ignores an upgrade, as nothing is upgraded here, and takes no body with a GET', async () => {
    const upgrade = await raw(
      'GET /api/proxy/plugin/shop/plain/x HTTP/1.1',
      'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    expect(upgrade.status).to.equal(200);
    const body = await raw('GET /api/proxy/plugin/shop/plain/x HTTP/1.1', 'Content-Length: 2\r\nConnection: close\r\n\r\n{}');
    expect(body.status).to.equal(400);
    const [received, more] = suite.service.received;
    expect(received?.headers).to.not.have.any.keys('upgrade', 'sec-websocket-key');
    expect(more).to.equal(undefined);
  });

  it('LIM-05 lets no message through whose end could be taken for another', async () => {
    const smuggled = 'GET /api/admin HTTP/1.1\r\nHost: x\r\n\r\n';
    for (const headers of [
      `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
      `Transfer-Encoding: xchunked\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      `Content-Length: +4\r\n\r\n${smuggled}`,
      `Content-Length: 4\n\r\n${smuggled}`,
      `X-Folded: a\r\n Content-Length: 4\r\n\r\n${smuggled}`,
    ]) {
      const { status } = await raw('POST /api/proxy/plugin/shop/plain/x HTTP/1.1', headers);
      expect(status, headers).to.equal(400);
    }
    expect(suite.service.received.filter(({ url }) => url.includes('admin'))).to.deep.equal([]);
  });

  it('STA-01 refuses every way out of the base path, and passes on paths that only look like one', async () => {
    for (const path of [
      '../x',
      '%2e%2e/x',
      '..%2fx',
      '%252e%252e/x',
      '..%5cx',
      '..\\x',
      'a/../../x',
      '..;/x',
      'a//x',
      '/x',
      'a%00',
      'a%0ax',
      '%zz',
      'ä',
      `${'x'.repeat(3000)}`,
    ]) {
      const { status } = await raw(`GET /api/proxy/plugin/shop/plain/${path} HTTP/1.1`, 'Connection: close\r\n\r\n');
      expect(status, path).to.equal(400);
    }
    expect(suite.service.received).to.deep.equal([]);
    for (const [path, arrives] of Object.entries({
      '..a/...': '/api/..a/...',
      'a;b=c/d@e': '/api/a;b=c/d@e',
      '50%25/': '/api/50%25/',
      '[x]|y': '/api/%5Bx%5D%7Cy',
      '%C3%A4': '/api/%C3%A4',
    })) {
      const { status } = await raw(`GET /api/proxy/plugin/shop/plain/${path} HTTP/1.1`, 'Connection: close\r\n\r\n');
      expect(status, path).to.equal(200);
      expect(suite.service.received.at(-1)?.url).to.equal(arrives);
    }
  });
});

describe('Services beside each other', () => {
  const suite = forSuite(() => startPluginSuite({ config: { server: { publicURL: 'http://console.test/console/' } } }));

  it('hold up nothing when one hangs: the 65th request at a time is 429', async () => {
    await suite.plugin('shop', { proxy: [{ alias: 'plain', service: suite.reference() }] });
    const held: (() => void)[] = [];
    suite.service.handle = (_request, response) => held.push(() => response.end('x'));
    const token = await suite.server.token('alice');
    const send = async () => (await suite.server.request('/console/api/proxy/plugin/shop/plain/x', { token })).status;
    const statuses: number[] = [];
    const waiting = Array.from({ length: 70 }, async () => statuses.push(await send()));
    await eventually(
      () => [...statuses],
      (soFar) => soFar.length === 6,
    );
    expect(new Set(statuses)).to.deep.equal(new Set([429]));
    expect((await suite.server.request('/console/api/v1/modules')).status).to.equal(200);
    suite.service.handle = undefined;
    for (const end of held) end();
    await Promise.all(waiting);
    expect(statuses.filter((status) => status === 200)).to.have.length(64);
    expect(await send()).to.equal(200);
  });

  it('are reached below the base path of the public URL, too', async () => {
    await suite.plugin('base', { backend: { service: suite.reference() }, proxy: [{ alias: 'plain', service: suite.reference() }] });
    suite.service.received.length = 0;
    expect((await suite.server.request('/console/api/proxy/plugin/base/plain/a/b?c', { as: 'alice' })).status).to.equal(200);
    expect((await suite.server.request('/console/plugins/base/d/e.js')).status).to.equal(200);
    expect(suite.service.received.map(({ url }) => url)).to.deep.equal(['/a/b?c', '/d/e.js']);
    expect((await suite.server.request('/plugins/base/d/e.js')).status).to.equal(404);
  });

  it('are verified by the certificate authority that the ConsolePlugin names, and by that alone', async () => {
    const authority = await ServiceAuthority.create();
    const own = await PluginService.start(await authority.issue('own.plugins.svc'));
    try {
      const service = { name: 'own', namespace: 'plugins', port: own.port };
      await suite.plugin('own', {
        proxy: [
          { alias: 'named', service, caCertificate: authority.certificate },
          { alias: 'unnamed', service },
          { alias: 'shop', service: suite.reference(), caCertificate: authority.certificate },
        ],
      });
      const status = async (alias: string) =>
        (await suite.server.request(`/console/api/proxy/plugin/own/${alias}/x`, { as: 'alice' })).status;
      expect(await status('named')).to.equal(200);
      expect(await status('unnamed')).to.equal(503);
      expect(await status('shop')).to.equal(503);
    } finally {
      await own.stop();
    }
  });
});
