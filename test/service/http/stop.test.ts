import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { FaultProxy, holdAnswer } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aGroup, ask, groups } from '../groups/support.ts';
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

describe('a write that the API server answers after the grace period of a stop', () => {
  it('is audited before the stop ends', async () => {
    const between = Promise.withResolvers<FaultProxy>();
    const server = await startServer({
      objects: [aGroup('dev')],
      config: { server: { shutdownGrace: '100ms' } },
      async between({ url, certificateAuthority, serving }) {
        between.resolve(await FaultProxy.start({ target: url, certificateAuthority, serving }));
        return between.promise;
      },
    });
    const isCut = Promise.withResolvers<void>();
    try {
      await grant(server.kubernetes, 'alice', 'atrium-users-admin');
      await eventually(
        () => ask(server, 'alice', 'GET', `${groups}/dev`),
        ({ status }) => status === 200,
      );
      const faults = await between.promise;
      const isGroup = ({ method, path }: { method: string; path: string }) => method === 'PATCH' && path.endsWith('/groups/dev');
      faults.forgetRequests();
      faults.inject(holdAnswer(isCut.promise), isGroup);
      const headers = { 'content-type': 'application/merge-patch+json' };
      const body = { metadata: { labels: { team: 'shop' } } };
      const change = ask(server, 'alice', 'PATCH', `${groups}/dev`, { body, headers }).then(
        () => 'answered',
        () => 'cut',
      );
      await eventually(
        () => faults.requests.some(isGroup),
        (isSent) => isSent,
      );
      const stopped = server.stopFirst();
      expect(await change).to.equal('cut');
      // A stop that does not wait for the write ends meanwhile.
      await Promise.race([stopped, sleep(500)]);
      isCut.resolve();
      await stopped;

      expect(server.auditLines.filter((line) => line.includes('"audit":"GroupPatched"'))).to.have.lengthOf(1);
    } finally {
      isCut.resolve();
      await server.stop();
    }
  });
});
