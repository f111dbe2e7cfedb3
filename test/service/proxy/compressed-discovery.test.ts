import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

const base = '/api/kubernetes';
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

describe('discovery through the service', () => {
  const server = forSuite(() => startServer());

  async function get(path: string, headers: Record<string, string> = {}) {
    const call = request(`${server.url}${base}${path}`, {
      headers: { Authorization: `Bearer ${await server.token('manager')}`, 'Accept-Encoding': 'br', Accept: aggregated, ...headers },
    });
    call.end();
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
  }

  it('is compressed for clients that accept it, and not sent again while nothing has changed', async () => {
    const plain = await get('/apis', { 'Accept-Encoding': 'identity' });
    const small = await get('/apis');
    expect([plain.status, small.status]).to.deep.equal([200, 200]);
    expect([plain.headers['content-encoding'], small.headers['content-encoding']]).to.deep.equal([undefined, 'br']);
    expect(small.text.length).to.be.below(plain.text.length / 3);
    expect(small.headers.vary).to.match(/Accept-Encoding/i);
    const { etag } = small.headers;
    if (etag === undefined) return;
    const again = await get('/apis', { 'If-None-Match': etag });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });

  it('is the only answer of the API server that is compressed here', async () => {
    await grant(server.kubernetes, 'manager', 'cluster-admin');
    const metadata = { name: 'long', namespace: 'default' };
    await server.kubernetes.apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { a: 'x'.repeat(4000) } });
    for (const path of ['/api/v1/namespaces/default/secrets/long', '/api/v1/namespaces/default/secrets'])
      expect((await get(path, { Accept: 'application/json' })).headers, path).to.not.have.property('content-encoding');
  });
});
