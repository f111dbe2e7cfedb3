import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';

const between = new ApiServerBetween('/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/');
const rule = { apiGroups: [''], resources: ['services/proxy'], resourceNames: ['prometheus:9090'], verbs: ['get'] };

interface Answer {
  message?: string;
  source?: string;
  points?: { count: number | null; cpu: number | null }[];
}

describe('usage from Prometheus', () => {
  const server = forSuite(() =>
    startServer({
      config: { console: { metrics: { prometheus: 'monitoring/prometheus:9090' } } },
      objects: [
        aNamespace('monitoring'),
        aRole('prometheus', [rule], 'monitoring'),
        aBinding('alice-prometheus', { role: 'prometheus', roleKind: 'Role', to: 'User:alice', namespace: 'monitoring' }),
      ],
      between: between.start,
    }),
  );
  const get = async (as: 'alice' | 'bob', token?: string) => {
    const response = await server.request('/api/v2/usage/namespaces/shop/pods/web-0?range=6h', token === undefined ? { as } : { token });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  beforeEach(() => {
    between.received.length = 0;
  });

  it('is asked with the credential of the caller, and keeps gaps apart from times without the pod', async () => {
    between.handle = (request, response) => {
      const query = new URL(request.url ?? '', 'http://prometheus').searchParams;
      const start = Number(query.get('start'));
      const isAll = !query.get('query')?.includes('namespace="shop"');
      const values = isAll ? [0, 300, 600].map((at) => [start + at, '9']) : [[start + 600, '2']];
      response.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: [{ metric: {}, values }] } }));
    };
    const token = await server.token('alice');
    const { status, body } = await get('alice', token);
    expect(status, body.message).to.equal(200);
    expect(body.source).to.equal('prometheus');
    expect(body.points?.slice(0, 4).map(({ count, cpu }) => [count, cpu])).to.deep.equal([
      [0, null],
      [0, null],
      [2, 2],
      [null, null],
    ]);
    expect(between.received.map(({ headers }) => headers.authorization)).to.deep.equal(Array(4).fill(`Bearer ${token}`));
  });

  it('is refused without the right to the service proxy, before a query is sent', async () => {
    const { status, body } = await get('bob');
    expect(status).to.equal(403);
    expect(body.message).to.contain('cannot get resource "services/proxy"');
    expect(between.received).to.have.length(0);
  });

  it('is 503 for a refusal or another body, whose text is not shown', async () => {
    const bodies = [
      '<html>secret',
      '{"status":"error","error":"secret"}',
      '{"kind":"Status","status":"Failure","code":401,"message":"secret"}',
    ];
    for (const [index, text] of bodies.entries()) {
      between.handle = (_request, response) => {
        response.statusCode = index === 2 ? 401 : 200;
        response.end(text);
      };
      const { status, body } = await get('alice');
      expect(status, text).to.equal(503);
      expect(body.message).to.contain('console.metrics.prometheus').and.not.contain('secret');
    }
  });
});
