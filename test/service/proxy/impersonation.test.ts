import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { aPerson, deleteStored, makeToken, startTokenServer } from '../tokens/tokens.ts';
import { ApiServerBetween } from './api-server-between.ts';

const path = '/api/kubernetes/apis/between/v1/things';

describe('the Kubernetes API in the name of a person', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startTokenServer({ between: between.start, objects: [] }));
  let token: string;
  let id: string;

  before(async () => {
    await server.kubernetes.apply(aPerson('alice'));
    ({ token, id } = await makeToken(server, 'alice'));
  });
  beforeEach(() => {
    between.received.length = 0;
  });

  const send = (options = {}, query = '') => server.request(`${path}${query}`, { token, ...options });
  const answer = (code: number, text: string) => {
    between.handle = (request, response) => {
      request.resume();
      request.once('end', () => response.writeHead(code, { 'Content-Type': 'application/json' }).end(text));
    };
  };

  it('AUZ-01 goes out with the account of the service and the name of the owner, and never with the access token', async () => {
    answer(200, '{}');
    expect((await send({ method: 'POST', body: '{}' })).status).to.equal(200);
    const { authorization, 'impersonate-user': user } = between.last.headers;
    expect(user).to.equal('alice');
    expect(authorization)
      .to.match(/^Bearer ./)
      .and.not.contain(token);
    for (const part of token.split('_').slice(1)) expect(JSON.stringify(between.last.headers)).to.not.contain(part);
  });

  it('passes a refusal of the person on as it is, however long it is', async () => {
    for (const text of ['{"kind":"Status","code":403,"message":"no"}', `{"kind":"Status","message":"${'ä'.repeat(100_000)}"}`]) {
      answer(403, text);
      const response = await send();
      expect([response.status, await response.text()]).to.deep.equal([403, text]);
    }
  });

  it('says nothing of a refusal of the service itself', async () => {
    const message = 'users "alice" is forbidden: User "system:serviceaccount:atrium-system:atrium" cannot impersonate resource "users"';
    for (const [code, text] of [
      [401, '{"kind":"Status","message":"Unauthorized"}'],
      [403, JSON.stringify({ kind: 'Status', message })],
      [403, `k8s\0 ${message}`],
    ] as const)
      for (const options of [{}, { method: 'POST', body: '{}' }]) {
        answer(code, text);
        const response = await send(options);
        expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '1']);
        expect(await response.text())
          .to.contain('kubernetes is not available')
          .and.not.contain('impersonate');
      }
  });

  it('AUZ-07 ends a watch when the access token is deleted', async () => {
    between.handle = (_request, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).write('{}\n');
    const watch = await send({}, '?watch=true');
    expect(watch.status).to.equal(200);
    const rest = watch.text().catch(() => 'cut');
    await deleteStored(server, id);
    expect(await rest).to.match(/^\{\}\n\{"type":"ERROR","object":\{"kind":"Status".*"code":401\}\}\n$/);
    expect((await send()).status).to.equal(401);
  });
});
