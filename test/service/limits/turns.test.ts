import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { type Bounds, runInFlow, Semaphore } from '@atrium/http/limits/semaphore.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { IssuerFetch } from '@atrium/oidc-client/fetch.ts';
import { expect } from 'chai';
import { get } from '../../../packages/kubernetes/test/calls.ts';
import { bearer, clientOf, FakeApiServer, json } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { AdmissionPolicies } from '../../../src/access-requests/admission-policies.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { servicesOf } from '../../support/services.ts';

/** Flows that fill what is waited for, by name. */
const filling: Readonly<Record<string, readonly string[]>> = {
  'one address': ['network 203.0.113.1'],
  'one person': ['user jane'],
  'three networks': ['network 203.0.113.1', 'network 203.0.113.2', 'network 203.0.113.3'],
};
const others = Array.from({ length: 20 }, (_, index) => `user other-${index}`);

const asFlow = <T>(key: string, work: () => Promise<T>): Promise<T> => runInFlow({ key }, work);

describe('flows that wait', () => {
  for (const [what, flows] of Object.entries(filling)) {
    it(`LIM-18 leave connections to the API server to 20 others while ${what} holds it up`, async () => {
      const server = await new FakeApiServer().start();
      const client = clientOf(server, 600_000);
      const held: ServerResponse[] = [];
      server.answer(({ headers }, response) => {
        if (headers.authorization === 'Bearer token-of-slow') held.push(response);
        else response.setHeader('content-type', 'application/json').end('{}');
      });
      const slow = flows.flatMap((key) =>
        Array.from({ length: 300 / flows.length }, () => asFlow(key, () => client.asCaller(bearer('slow')).request(get()))),
      );
      await eventually(
        () => held.length,
        (count) => count === 16 * flows.length,
      );
      await Promise.all(others.map((key) => asFlow(key, () => client.asCaller(bearer(key.replace(' ', '-'))).request(get()))));
      expect(held).to.have.length(16 * flows.length);

      server.answer((_request, response) => response.setHeader('content-type', 'application/json').end('{}'));
      for (const response of held) response.setHeader('content-type', 'application/json').end('{}');
      await Promise.all(slow);
      await client.close();
      await server.stop();
    });

    it(`LIM-18 leave connections to an issuer to 20 others while ${what} holds it up`, async () => {
      const held: ServerResponse[] = [];
      const server = createServer(({ url }, response) => void (url === '/slow' ? held.push(response) : response.end('{}')));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const issuer = new IssuerFetch({ id: 'oidc' }, new Metrics());
      const send = (key: string, path: string) => asFlow(key, () => issuer.send(`${url}${path}`, { headers: {}, signal: neverAborts }));
      const slow = flows.flatMap((key) => Array.from({ length: 90 / flows.length }, () => send(key, '/slow')));
      await eventually(
        () => held.length,
        (count) => count === 8 * flows.length,
      );
      expect((await Promise.all(others.map((key) => send(key, '/token')))).map(({ status }) => status)).to.deep.equal(
        others.map(() => 200),
      );
      expect(held).to.have.length(8 * flows.length);

      server.removeAllListeners('request').on('request', (_request, response) => response.end('{}'));
      for (const response of held) response.end('{}');
      await Promise.all(slow);
      await issuer.stop();
      server.close();
    });
  }
});

describe('a read for all callers', () => {
  it('LIM-18 does not wait behind the calls of the flow that begins it', async () => {
    const server = await new FakeApiServer().start();
    const client = clientOf(server, 600_000);
    const held: ServerResponse[] = [];
    server.answer(({ path }, response) => void (path.endsWith('/logo') ? held.push(response) : json(response, 200, {})));
    const slow = Array.from({ length: 20 }, () => asFlow('user jane', () => client.asService.request(get())));
    await eventually(
      () => held.length,
      (count) => count === 16,
    );
    const services = servicesOf(client, { log: createLog({ level: 'silent', format: 'json' }) });
    const policies = new AdmissionPolicies(services, { of: { group: '', resource: 'any' }, policies: ['any'] });
    const askAs = (key: string) =>
      asFlow(key, () => policies.require(neverAborts)).catch((error: unknown) => error instanceof StatusError && error.status.code);
    // The policies are not in force.
    expect(await Promise.all([askAs('user jane'), askAs('user joe')])).to.deep.equal([503, 503]);

    server.answer((_request, response) => json(response, 200, {}));
    for (const response of held) json(response, 200, {});
    await Promise.all(slow);
    await client.close();
    await server.stop();
  });
});

describe('password hashes', () => {
  it('LIM-19 take turns by flow', async () => {
    const passwords = cheapPasswords();
    const order: string[] = [];
    const hash = (flow: string) => asFlow(flow, () => passwords.hash('secret')).then(() => order.push(flow));
    const all = [...Array.from({ length: 100 }, () => hash('user jane')), ...others.map(hash)];
    await Promise.all(all);
    // Two are computed at a time.
    expect(order.lastIndexOf(others.at(-1) ?? '')).to.be.at.most(2 * others.length + 4);
  });
});

describe('a semaphore', () => {
  /** Work that waits for `release`, in the order in which it begins. */
  const busy = (bounds: Partial<Bounds>) => {
    const semaphore = new Semaphore({ atOnce: 1, maxWaiting: 4, what: 'tests wait', ...bounds });
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const start = (flow: string, name: string) => {
      const work = () =>
        new Promise<void>((resolve) => {
          begun.push(name);
          ends.push(resolve);
        });
      return asFlow(flow, () => semaphore.run(work)).then(
        () => 'done',
        (error: unknown) => (error instanceof StatusError ? error.status.code : error),
      );
    };
    const next = async () => {
      ends.shift()?.();
      await turn();
    };
    return { semaphore, begun, start, next };
  };

  it('LIM-19 lets flows take turns', async () => {
    const { begun, start, next } = busy({ maxWaiting: 10 });
    const all = [...['a1', 'a2', 'a3', 'a4'].map((name) => start('a', name)), start('b', 'b1'), start('c', 'c1'), start('b', 'b2')];
    await turn();
    for (const _ of all) await next();
    expect(begun).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
    expect(await Promise.all(all)).to.deep.equal(all.map(() => 'done'));
  });

  it('LIM-19 refuses the last task of the flow with most waiting ones once its queue is full', async () => {
    const { start, next } = busy({});
    const ofA = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => start('a', name));
    const ofB = start('b', 'b1');
    expect(await ofA.at(-1)).to.equal(429);
    expect(await start('a', 'a6')).to.equal(429);
    await turn();
    for (let left = 0; left < 5; left += 1) await next();
    expect(await ofB).to.equal('done');
    expect(await Promise.all(ofA)).to.deep.equal(['done', 'done', 'done', 'done', 429]);
  });

  it('LIM-19 lets no flow run more than its share, and counts all of it back', async () => {
    const { semaphore, begun, start, next } = busy({ atOnce: 4, ofFlow: 2, maxOfFlow: 3 });
    const ofA = ['a1', 'a2', 'a3'].map((name) => start('a', name));
    expect(await start('a', 'a4')).to.equal(429);
    const ofB = start('b', 'b1');
    await turn();
    expect(begun).to.deep.equal(['a1', 'a2', 'b1']);
    expect([semaphore.running, semaphore.waiting]).to.deep.equal([3, 1]);
    for (let left = 0; left < 4; left += 1) await next();
    expect(await Promise.all([...ofA, ofB])).to.deep.equal(['done', 'done', 'done', 'done']);
    expect([semaphore.running, semaphore.waiting]).to.deep.equal([0, 0]);
  });
});
