import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const tokens = '/auth/v1/accesstokens';
const listSchema = z.object({
  metadata: z.object({ continue: z.string(), remainingItemCount: z.number() }),
  total: z.number(),
  items: z.array(z.object({ metadata: z.object({ name: z.string() }) })),
});
const logLine = z.looseObject({ level: z.string(), msg: z.string(), userAgent: z.string().optional() });
const inAll = 5003;

/** Returns an access token, a kind that only lists depend on. */
const aToken = (number: number) => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessToken',
  metadata: { name: `t${String(number).padStart(5, '0')}` },
  spec: {
    owner: 'somebody',
    description: `number ${number % 10} “quoted”`,
    tokenHash: number.toString(16).padStart(64, '0'),
    issuedAt: '2026-01-01T00:00:00Z',
  },
});

describe('lists without limit and page', () => {
  const server = forSuite(() => startServer());
  const get = (query = '', options = {}) => server.request(`${tokens}${query}`, { as: 'admin', ...options });
  const read = async (query = '') => listSchema.parse(await (await get(query)).json());

  before(async () => {
    let next = 0;
    const worker = async () => {
      while (next < inAll) {
        next += 1;
        await server.kubernetes.apply(aToken(next));
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    await eventually(
      async () => (await read('?limit=1')).total,
      (total) => total === inAll,
    );
  });

  it('hold everything up to 5,000 items, and say where they end', async () => {
    const response = await get('?sortBy=name');
    const first = listSchema.parse(await response.json());

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(response.headers.get('warning')).to.equal(
      '299 - "the list ends after 5000 items; go on with continue, or ask for pages with limit"',
    );
    expect([first.items.length, first.total, first.metadata.remainingItemCount]).to.deep.equal([5000, inAll, 3]);

    const rest = await get(`?sortBy=name&continue=${encodeURIComponent(first.metadata.continue)}`);
    const last = listSchema.parse(await rest.json());
    expect(rest.headers.get('warning')).to.equal(null);
    expect([last.items.length, last.total, last.metadata.remainingItemCount, last.metadata.continue]).to.deep.equal([3, inAll, 0, '']);
    const names = [...first.items, ...last.items].map(({ metadata }) => metadata.name);
    expect(names).to.deep.equal(Array.from({ length: inAll }, (_, index) => aToken(index + 1).metadata.name));
  });

  it('hold all rows that match a filter', async () => {
    const response = await get('?filterBy=description,number%207');
    const { items, total, metadata } = listSchema.parse(await response.json());

    expect([items.length, total, metadata.remainingItemCount, metadata.continue]).to.deep.equal([500, 500, 0, '']);
    expect(response.headers.get('warning')).to.equal(null);
  });

  it('have no pages: a page has 100 items by default, 1,000 at most, and no warning', async () => {
    for (const [query, length] of [
      ['?page=1', 100],
      ['?page=51', 3],
      ['?limit=5000', 1000],
      ['?limit=2000&page=6', 3],
    ] as const) {
      const response = await get(query);
      expect(listSchema.parse(await response.json()).items, query).to.have.length(length);
      expect(response.headers.get('warning'), query).to.equal(null);
    }
  });

  it('are indented like any JSON', async () => {
    const text = await (await get('?pretty=true')).text();

    expect(text).to.equal(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
    expect(listSchema.parse(JSON.parse(text)).items).to.have.length(5000);
  });

  it('have no ETag, and are not stored by caches', async () => {
    for (const query of ['', '?limit=2']) {
      const response = await get(query, { headers: { 'If-None-Match': '*' } });
      expect(response.status, query).to.equal(200);
      expect(response.headers.get('etag'), query).to.equal(null);
      expect(response.headers.get('cache-control'), query).to.equal('no-store');
      await response.body?.cancel();
    }
  });

  it('answer HEAD without making the list', async () => {
    const response = await get('', { method: 'HEAD' });

    expect(response.status).to.equal(200);
    expect(response.headers.get('warning')).to.include('5000');
    expect((await response.arrayBuffer()).byteLength).to.equal(0);
  });

  it('end with a caller that goes away, or does not read', async () => {
    const token = await server.token('admin');
    const logged = server.logLines.length;
    const sockets = Array.from({ length: 20 }, () => connect(server.port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.write(`GET ${tokens} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: slow reader\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      await once(socket, 'readable');
      expect(socket.read(15)?.toString()).to.equal('HTTP/1.1 200 OK');
    }
    // Other requests are answered meanwhile.
    expect(await read('?limit=1')).to.include({ total: inAll });
    for (const socket of sockets) socket.destroy();

    const since = () => server.logLines.slice(logged).map((line) => logLine.parse(JSON.parse(line)));
    await eventually(
      () => since().filter(({ msg, userAgent }) => msg === 'request' && userAgent === 'slow reader').length,
      (count) => count === sockets.length,
    );
    expect(since().filter(({ level }) => level !== 'info' && level !== 'debug')).to.deep.equal([]);
  });
});
