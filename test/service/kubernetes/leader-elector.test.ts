import { once } from 'node:events';
import { expect } from 'chai';
import { LeaderElector } from '../../../src/controllers/leader-elector.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clientOf, FakeApiServer, json, silentLog } from './fake-api-server.ts';

/** No call of the test takes so long. */
const longMs = 600_000;

describe('the leader elector', () => {
  const upstream = forSuite(() => new FakeApiServer().start());

  it('ends the work before another replica may take the Lease, also while a renewal has no answer', async () => {
    let written = 0;
    upstream.answer((request, response) => {
      if (request.method === 'GET' && written === 0) return json(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
      if (request.method === 'GET') return undefined;
      written += 1;
      return json(response, 201, { ...JSON.parse(request.body), metadata: { name: 'work', resourceVersion: '1' } });
    });
    const client = clientOf(upstream, longMs);
    const elector = new LeaderElector({
      client: client.asService,
      namespace: 'atrium-system',
      name: 'work',
      log: silentLog,
      durationSeconds: 3,
      now: () => new Date(),
    });
    const begun = Promise.withResolvers<AbortSignal>();
    elector.start(async (signal) => {
      begun.resolve(signal);
      await once(signal, 'abort');
    });
    const signal = await begun.promise;
    if (!signal.aborted) await once(signal, 'abort');

    expect(signal.reason).to.have.property('message', 'another replica holds the Lease');
    expect(written).to.equal(1);
    await elector.stop();
    await client.close();
  });
});
