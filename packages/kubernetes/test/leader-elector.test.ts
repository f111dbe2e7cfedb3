import { once } from 'node:events';
import { LeaderElector } from '@atrium/kubernetes/controllers/leader-elector.ts';
import { expect } from 'chai';
import { forSuite } from '../../../test/support/for-suite.ts';
import { clientOf, FakeApiServer, json, leaseNotFound, silentLog, status } from './fake-api-server.ts';

/** No call of the test takes so long. */
const longMs = 600_000;

describe('the leader elector', () => {
  const upstream = forSuite(() => new FakeApiServer().start());

  it('ends the work before another replica may take the Lease, also while a renewal has no answer', async () => {
    let written = 0;
    upstream.answer((request, response) => {
      if (written > 0) return undefined;
      if (request.method === 'GET') return leaseNotFound(response, 'work');
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

  it('renews the Lease that it wrote without reading it, and reads it after a conflict', async () => {
    const methods: string[] = [];
    let version = 0;
    const conflictsAt = 4;
    const ended = Promise.withResolvers<void>();
    upstream.answer(({ method, body }, response) => {
      methods.push(method);
      if (method === 'GET' && version === 0) return leaseNotFound(response, 'work');
      const isLost = methods.length >= conflictsAt;
      if (method !== 'GET' && isLost) return status(response, 409, 'Conflict');
      version += 1;
      const spec = method === 'GET' ? { holderIdentity: 'another' } : JSON.parse(body).spec;
      return json(response, 200, { spec, metadata: { name: 'work', resourceVersion: `${version}` } });
    });
    const client = clientOf(upstream, longMs);
    const elector = new LeaderElector({
      client: client.asService,
      namespace: 'atrium-system',
      name: 'work',
      log: silentLog,
      durationSeconds: 1,
      now: () => new Date(),
    });
    elector.start(async (signal) => {
      if (!signal.aborted) await once(signal, 'abort');
      ended.resolve();
    });
    await ended.promise;

    expect(methods.slice(0, 5)).to.deep.equal(['GET', 'POST', 'PUT', 'PUT', 'GET']);
    await elector.stop();
    await client.close();
  });
});
