import { request } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';

describe('the log of a stop', () => {
  let between: ApiServerBetween;
  let server: TestServer;

  const start = async (shutdownGrace: string) => {
    between = new ApiServerBetween();
    server = await startServer({ between: between.start, config: { server: { shutdownGrace } } });
  };
  /** Opens a request to the API server, which the test answers. */
  const open = async (search = '') => {
    const headers = { authorization: `Bearer ${await server.token('alice')}` };
    const call = request(`${server.url}/api/kubernetes/apis/between/v1/things${search}`, { headers });
    const answered = new Promise<void>((resolve) => call.once('response', (answer) => resolve(void answer.resume())));
    call.on('error', () => undefined);
    call.end();
    await eventually(
      async () => between.received.length,
      (received) => received === 1,
    );
    return { answered };
  };
  const lines = (message: string) =>
    server.logLines.map((line): Record<string, unknown> => JSON.parse(line)).filter(({ msg }) => msg === message);

  afterEach(() => server.stop());

  it('tells of streams, and of a clean end', async () => {
    await start('60s');
    between.handle = (_incoming, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
    const { answered } = await open('?watch=true');
    await answered;

    await server.stopFirst();

    expect(lines('stopping').map(({ requests, streams }) => ({ requests, streams }))).to.deep.equal([{ requests: 0, streams: 1 }]);
    const [stopped, ...more] = lines('stopped');
    expect(stopped).to.include({ level: 'info', clean: true, cutConnections: 0 }).and.have.property('seconds').that.is.a('number');
    expect(more).to.deep.equal([]);
  });

  it('tells of requests that were cut at the end of the grace period', async () => {
    await start('100ms');
    between.handle = () => undefined;
    await open();

    await server.stopFirst();

    expect(lines('stopping')[0]).to.include({ requests: 1, streams: 0 });
    expect(lines('stopped')[0]).to.include({ level: 'warn', clean: false, cutConnections: 1 });
  });
});
