import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

const base = '/api/kubernetes';
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

describe('answers of the API server through the service', () => {
  const server = forSuite(() => startServer());

  async function get(path: string, headers: Record<string, string> = {}) {
    const call = request(`${server.url}${base}${path}`, {
      headers: {
        Authorization: `Bearer ${await server.token('manager')}`,
        'Accept-Encoding': 'br',
        Accept: 'application/json',
        ...headers,
      },
    });
    call.end();
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
  }

  const make = (kind: string, content: object) =>
    server.kubernetes.apply({ apiVersion: 'v1', kind, metadata: { name: 'long', namespace: 'default' }, ...content });

  before(() => grant(server.kubernetes, 'manager', 'cluster-admin'));

  it('are compressed if they are discovery, which is not sent again while nothing has changed', async () => {
    const plain = await get('/apis', { Accept: aggregated, 'Accept-Encoding': 'identity' });
    const small = await get('/apis', { Accept: aggregated });
    expect([plain.status, small.status]).to.deep.equal([200, 200]);
    expect([plain.headers['content-encoding'], small.headers['content-encoding']]).to.deep.equal([undefined, 'br']);
    expect(small.text.length).to.be.below(plain.text.length / 3);
    expect(small.headers.vary).to.match(/Accept-Encoding/i);
    const { etag } = small.headers;
    if (etag === undefined) return;
    const again = await get('/apis', { Accept: aggregated, 'If-None-Match': etag });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });

  it('are compressed if they are lists or objects', async () => {
    await make('ConfigMap', { data: { a: 'x'.repeat(4000) } });
    for (const path of ['/api/v1/namespaces/default/configmaps/long', '/api/v1/namespaces/default/configmaps']) {
      const [plain, small] = [await get(path, { 'Accept-Encoding': 'identity' }), await get(path)];
      expect([plain.headers['content-encoding'], small.headers['content-encoding']], path).to.deep.equal([undefined, 'br']);
      expect(small.text.length, path).to.be.below(plain.text.length / 2);
    }
  });

  it('are not compressed if a credential can be in them', async () => {
    await make('Secret', { stringData: { a: 'x'.repeat(4000) } });
    for (const path of [
      '/api/v1/namespaces/default/secrets/long',
      '/api/v1/namespaces/default/secrets',
      '/apis/auth.platform.io/v1/users',
    ]) {
      const { status, headers } = await get(path);
      expect(status, path).to.equal(200);
      expect(headers, path).to.not.have.property('content-encoding');
    }
  });
});
