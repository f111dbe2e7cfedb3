import { expect } from 'chai';
import { forSuite } from '../../../test/support/for-suite.ts';
import { get, ok, post, reset, statusOf } from './calls.ts';
import { type Answer, bearer, clientOf, FakeApiServer, failureOf, inTurn, status } from './fake-api-server.ts';

describe('a call to the API server that may be tried again', () => {
  const server = forSuite(() => new FakeApiServer().start());
  beforeEach(() => {
    server.requests.length = 0;
  });

  for (const code of [429, 503]) {
    it(`FLT-05 is tried again at most twice after ${code} with Retry-After, if it is a read`, async () => {
      const client = clientOf(server);
      const busy: Answer = (_request, response) => status(response, code, 'TooManyRequests', { 'Retry-After': '0' });
      server.answer(inTurn(busy, busy, ok));
      expect(await client.asCaller(bearer('jane')).request(get())).to.deep.equal({ fine: true });
      server.answer(busy);
      server.requests.length = 0;
      expect(statusOf(await failureOf(client.asCaller(bearer('jane')).request(get()))).headers).to.deep.equal({ 'Retry-After': '0' });
      expect(server.requests).to.have.length(3);
      await failureOf(client.asCaller(bearer('jane')).request(post()));

      expect(server.requests).to.have.length(4);
      await client.close();
    });
  }

  it('FLT-05 is not tried again when it would have to wait past its deadline, or was not asked to', async () => {
    const client = clientOf(server, 60_000);
    server.answer((_request, response) => status(response, 429, 'TooManyRequests', { 'Retry-After': '60' }));
    expect(statusOf(await failureOf(client.asService.request(get())))).to.deep.include({ code: 429, headers: { 'Retry-After': '60' } });
    server.answer((_request, response) => status(response, 503, 'ServiceUnavailable'));
    expect(statusOf(await failureOf(client.asService.request(get())))).to.deep.include({ code: 503, headers: { 'Retry-After': '1' } });

    expect(server.requests).to.have.length(2);
    await client.close();
  });

  it('is tried again at most twice after a lost connection, if once and twice are the same', async () => {
    const client = clientOf(server);
    server.answer(inTurn(reset, reset, ok));
    expect(await client.asService.request(get())).to.deep.equal({ fine: true });
    server.answer(inTurn(reset, ok));
    expect(await client.asService.request(post({ isRepeatable: true }))).to.deep.equal({ fine: true });
    server.answer(inTurn(reset, ok));
    expect(statusOf(await failureOf(client.asService.request(post()))).code).to.equal(503);
    server.answer(reset);
    server.requests.length = 0;
    expect(statusOf(await failureOf(client.asService.request(get()))).code).to.equal(503);

    expect(server.requests).to.have.length(3);
    await client.close();
  });

  it('is tried again when the connection is lost in the middle of the answer', async () => {
    const client = clientOf(server);
    const half: Answer = (_request, response) => {
      response.writeHead(200).write('{"half":');
      setTimeout(() => response.destroy(), 5);
    };
    server.answer(inTurn(half, ok));

    expect(await client.asService.request(get())).to.deep.equal({ fine: true });
    await client.close();
  });
});
