import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const paths = ['/auth/v1/selfsubjectaccessreviews', '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews'] as const;

const listUsers = { resourceAttributes: { verb: 'list', group: 'auth.platform.io', resource: 'users' } };

const asks = [
  { spec: listUsers },
  { kind: 'SelfSubjectAccessReviewList', items: [{ spec: listUsers }, { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } }] },
];
const codes = (server: TestServer, token: string) =>
  Promise.all(
    asks.map(async (body) => {
      const response = await server.request(paths[0], { method: 'POST', body, token });
      const text = await response.text();
      expect(text).not.to.contain('"allowed":true');
      return [response.status, response.headers.get('retry-after')];
    }),
  );

describe('access reviews while the API server is out of reach', () => {
  const server = forSuite(() => startServer({ config: { kubernetes: { accessCache: '0s' } } }));

  it('AUZ-11 are 503, with nothing served', async () => {
    const token = await server.token('admin');
    expect((await server.request(paths[0], { method: 'POST', body: asks[0], token })).status).to.equal(201);

    await server.relay.cut();

    expect(await codes(server, token)).to.deep.equal([
      [503, '1'],
      [503, '1'],
    ]);
    await server.relay.mend();
    await eventually(
      async () => (await server.request(paths[0], { method: 'POST', body: asks[0], token })).status,
      (status) => status === 201,
    );
  });
});

describe('access reviews while the API server is silent', () => {
  const server = forSuite(() => startServer({ config: { kubernetes: { requestTimeout: '1s', accessCache: '0s' } } }));

  it('AUZ-11 are 504 when it accepts and says nothing', async () => {
    const token = await server.token('admin');
    server.relay.fallSilent();

    expect(await codes(server, token)).to.deep.equal([
      [504, '1'],
      [504, '1'],
    ]);
  });
});
