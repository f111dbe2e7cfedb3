import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { clientOf, FakeApiServer, json, leaseNotFound, type SeenRequest, silentLog, status } from './fake-api-server.ts';
import { until } from './watch-fixture.ts';

/** Lets the event loop turn. */
async function turnOften(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await turn();
}

describe('a controller', () => {
  const leasePath = '/apis/coordination.k8s.io/v1/namespaces/atrium-system/leases/things';
  let server: FakeApiServer;
  let client: ReturnType<typeof clientOf>;
  let lease: { metadata: { resourceVersion: string }; spec: Record<string, unknown> } | undefined;
  const controllers: Controller[] = [];

  beforeEach(async () => {
    lease = undefined;
    server = await new FakeApiServer().start();
    server.answer(({ method, path, body }: SeenRequest, response) => {
      if (method === 'GET') return path === leasePath && lease ? json(response, 200, lease) : leaseNotFound(response, 'things');
      const given = JSON.parse(body) as NonNullable<typeof lease>;
      if (given.metadata.resourceVersion !== lease?.metadata.resourceVersion) return status(response, 409, 'Conflict');
      write(given.spec);
      json(response, 200, lease);
    });
    client = clientOf(server);
  });
  afterEach(async () => {
    for (const controller of controllers.splice(0)) await controller.stop();
    await client.close();
    await server.stop();
  });

  const write = (spec: Record<string, unknown>) => {
    lease = { metadata: { resourceVersion: String(Number(lease?.metadata.resourceVersion ?? 0) + 1) }, spec };
  };
  const start = (term: Partial<Term>, source: Partial<Source> = {}) => {
    const followed: Source = { onChange: () => () => undefined, whenSynced: async () => undefined, keys: () => ['a', 'b'], ...source };
    const services = {
      client: client.asService,
      namespace: 'atrium-system',
      log: silentLog,
      metrics: new Metrics(),
      now: () => new Date(),
    };
    const controller = new Controller(services, {
      name: 'things',
      durationSeconds: 0.5,
      workers: 2,
      minRetryMs: 1,
      begin: () => ({ sources: [followed], reconcile: async () => 'done', onFailure: () => undefined, ...term }),
    });
    controllers.push(controller);
    controller.start();
    return controller;
  };

  const noteIn =
    (looks: string[], prefix = '') =>
    async (key: string): Promise<Outcome> => {
      looks.push(prefix + key);
      return 'done';
    };

  it('looks at every key once its sources are known, and at one that changes', async () => {
    const looks: string[] = [];
    const synced = Promise.withResolvers<void>();
    let tell: (key: string) => void = () => undefined;
    start(
      { reconcile: noteIn(looks) },
      {
        onChange(enqueue) {
          tell = enqueue;
          return () => undefined;
        },
        whenSynced: () => synced.promise,
      },
    );
    await until(() => lease !== undefined);
    await turnOften(50);
    expect(looks).to.deep.equal([]);
    synced.resolve();
    await until(() => looks.length === 2);
    tell('b');
    await until(() => looks.length === 3);
    expect(looks).to.deep.equal(['a', 'b', 'b']);
  });

  it('stops in mid-work when another replica becomes the leader, and looks at nothing after that', async () => {
    const looks: string[] = [];
    const ends: string[] = [];
    start(
      {
        async reconcile(key, signal) {
          looks.push(key);
          await sleep(60_000, undefined, { signal });
          return 'done';
        },
        end: async () => ends.push('term'),
      },
      { keys: () => ['a', 'b', 'c'], onChange: () => () => ends.push('source') },
    );
    await until(() => looks.length === 2);
    write({ ...lease?.spec, holderIdentity: 'another' });
    await until(() => ends.length === 2);

    expect(looks).to.deep.equal(['a', 'b']);
    expect(ends).to.deep.equal(['source', 'term']);
    expect(lease?.spec.holderIdentity).to.equal('another');
  });

  it('hands over at once when it stops', async () => {
    const looks: string[] = [];
    const first = start({ reconcile: noteIn(looks, 'first ') });
    await until(() => looks.length === 2);
    start({ reconcile: noteIn(looks, 'second ') });
    await first.stop();
    await until(() => looks.length === 4);

    expect(looks.slice(2)).to.deep.equal(['second a', 'second b']);
  });
});
